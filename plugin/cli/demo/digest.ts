import { createHash } from 'node:crypto';

const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** Value of one parameter in a challenge or in credentials (RFC 7616 §3.3). */
export function digestParam(header: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|[,\\s])${name}\\s*=\\s*(?:"([^"]*)"|([^,\\s]+))`, 'i').exec(header);
  return match?.[1] ?? match?.[2];
}

/** The response of RFC 2617 §3.2.2 without qop, which every SIP phone knows. */
export const digestResponse = (
  user: string,
  realm: string,
  password: string,
  nonce: string,
  method: string,
  uri: string,
): string => md5(`${md5(`${user}:${realm}:${password}`)}:${nonce}:${md5(`${method}:${uri}`)}`);

/** An Authorization value that answers the challenge. */
export function credentials(
  challenge: string,
  user: string,
  password: string,
  method: string,
  uri: string,
): string {
  const realm = digestParam(challenge, 'realm') ?? '';
  const nonce = digestParam(challenge, 'nonce') ?? '';
  const response = digestResponse(user, realm, password, nonce, method, uri);
  return `Digest username="${user}",realm="${realm}",nonce="${nonce}",uri="${uri}",response="${response}",algorithm=MD5`;
}
