import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { types } from 'node:util';
import { configInvalid } from './config';
import { problem, type ConfigProblem } from './problems';
import type { Config } from './types';

/** The PEM files that one section names. */
export interface TlsFiles {
  readonly ca_file?: string | undefined;
  readonly cert_file?: string | undefined;
  readonly key_file?: string | undefined;
}

/** What is in them; fits the options of node:tls. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/**
 * The content of the files that a section names.
 * @param path of the section, such as `['admin']`
 * @throws DsbcError DSBC_CONFIG_INVALID if one can't be read or is not what it should be, or the key is another one than
 * the certificate's
 */
export function readTlsFiles(path: readonly PropertyKey[], files: TlsFiles): TlsMaterial {
  const { problems, material } = examine(path, files);
  if (problems.length > 0) throw configInvalid(problems);
  return material;
}

/** What is wrong with the files that a start with this configuration reads. */
export function tlsProblems(config: Config): readonly ConfigProblem[] {
  const { admin, registry, log, sip_servers } = config;
  const sections: (readonly [path: readonly PropertyKey[], files: TlsFiles | undefined])[] = [
    [['admin'], admin],
    [['registry', 'tls'], registry.driver === 'cassandra' ? registry.tls : undefined],
    [['log', 'syslog'], log.syslog],
    ...sip_servers.map(
      (server, index) =>
        [
          ['sip_servers', index, 'control'],
          server.server === 'drachtio' ? server.control : undefined,
        ] as const,
    ),
  ];
  return sections.flatMap(([path, files]) => (files === undefined ? [] : examine(path, files).problems));
}

function examine(
  path: readonly PropertyKey[],
  files: TlsFiles,
): { readonly problems: readonly ConfigProblem[]; readonly material: TlsMaterial } {
  const problems: ConfigProblem[] = [];
  const take = <T>(
    key: keyof TlsFiles,
    expected: string,
    read: (pem: Buffer) => T,
  ): [Buffer, T] | undefined => {
    const file = files[key];
    if (file === undefined) return undefined;
    let pem: Buffer;
    try {
      pem = readFileSync(file);
    } catch (error) {
      problems.push(problem([...path, key], 'a file that can be read', reasonOf(error)));
      return undefined;
    }
    try {
      return [pem, read(pem)];
    } catch (error) {
      problems.push(problem([...path, key], expected, `${file}: ${reasonOf(error)}`));
      return undefined;
    }
  };
  const ca = take('ca_file', 'certificates in PEM', certificatesIn);
  const cert = take('cert_file', 'a certificate in PEM', certificatesIn);
  const key = take('key_file', 'a private key in PEM, without a passphrase', createPrivateKey);
  if (cert !== undefined && key !== undefined && !cert[1].checkPrivateKey(key[1]))
    problems.push(
      problem(
        [...path, 'key_file'],
        'the key of the certificate in cert_file',
        `another one in ${files.key_file}`,
      ),
    );
  return {
    problems,
    material: {
      ...(ca === undefined ? {} : { ca: ca[0] }),
      ...(cert === undefined ? {} : { cert: cert[0] }),
      ...(key === undefined ? {} : { key: key[0] }),
    },
  };
}

/** The first certificate of a file, all of which must be readable: behind it stands its chain. */
function certificatesIn(pem: Buffer): X509Certificate {
  const blocks = pem
    .toString('latin1')
    .match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]*(-----END [A-Z0-9 ]*-----)?/g);
  const [first] = (blocks ?? []).map((block) => new X509Certificate(block));
  if (first === undefined) throw new Error('there is no certificate in it');
  return first;
}

/** OpenSSL's words without its numbers. */
function reasonOf(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return error.message.replace(/^error:[0-9A-F]+:/i, '').replaceAll('::', ': ');
}
