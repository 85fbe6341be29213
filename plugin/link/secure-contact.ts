import {
  TRANSPORTS,
  type HeaderLine,
  type LinkCapabilities,
  type Transport,
  type TransportAddress,
} from './sip-link';

/**
 * drachtio-server writes a `sips:` URI into the Contact of a dialog over TLS. Many phones can't follow one (baresip
 * ends the call: "Function not implemented"), and only a request to a `sips:` URI asks for it (RFC 3261 §8.1.1.8,
 * §12.1.1). The Contact to give instead; none where the server's is right, or one is given already.
 * @param requestUri of the request that is sent or answered
 * @param addresses what the server listens on
 */
export function plainContact(
  transport: Transport | undefined,
  requestUri: string,
  given: readonly HeaderLine[],
  addresses: readonly TransportAddress[],
  can: LinkCapabilities,
): HeaderLine[] {
  if (can.exactHeaders || transport !== 'tls' || /^sips:/i.test(requestUri)) return [];
  if (given.some(([name]) => /^(contact|m)$/i.test(name))) return [];
  const own = addresses.find((one) => one.transport === transport);
  if (own === undefined) return [];
  const host = own.address.includes(':') ? `[${own.address}]` : own.address;
  return [['Contact', `<sip:${host}:${own.port};transport=tls>`]];
}

/** What the `transport` parameter of a URI says. */
export function transportOfUri(uri: string): Transport | undefined {
  const named = /;transport=(\w+)/i.exec(uri)?.[1]?.toLowerCase();
  return TRANSPORTS.find((transport) => transport === named);
}
