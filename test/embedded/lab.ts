import { startEmbeddedServer, type EmbeddedOptions, type EmbeddedServer } from '../../plugin/embedded';
import { connectSrf, type SrfApp } from './srf-app';
import { pause, UdpPeer } from './sip-peer';

export const SECRET = 'topsecret';

/** An embedded server with an application on it, a phone and some sites; all on loopback, on ports the kernel chose. */
export interface Lab {
  readonly server: EmbeddedServer;
  readonly srf: SrfApp;
  readonly phone: UdpPeer;
  readonly sites: UdpPeer[];
  readonly us: { readonly address: string; readonly port: number };
  /** `sip:1002@<site>`. */
  target(site: number): string;
  close(): Promise<void>;
}

export async function openLab(
  use: (srf: SrfApp) => void,
  options: Partial<EmbeddedOptions> & { sites?: number } = {},
): Promise<Lab> {
  const server = await startEmbeddedServer({
    addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp', 'tcp'] }],
    control: { port: 0, secret: SECRET },
    ...options,
  });
  const srf = await connectSrf(server.controlPort, SECRET);
  use(srf);
  await pause(30);
  const phone = await UdpPeer.open();
  const sites = await Promise.all(Array.from({ length: options.sites ?? 1 }, () => UdpPeer.open()));
  const [us] = server.addresses;
  if (!us) throw new Error('no entry address');
  return {
    server,
    srf,
    phone,
    sites,
    us,
    target: (site) => `sip:1002@${sites[site]?.host ?? ''}`,
    close: async () => {
      srf.disconnect();
      await server.close();
      await Promise.all([phone, ...sites].map((peer) => peer.close()));
    },
  };
}
