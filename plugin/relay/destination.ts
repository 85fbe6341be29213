import { formatUri, parseUri } from '../message/uri';

/**
 * A target's address with the user (and `user=phone`) that is asked for. drachtio-server replaces a Request-URI that
 * names itself by the destination it is given, so the destination has to carry the user too.
 */
export function destinationUri(target: string, requestUri: string): string {
  const wanted = parseUri(requestUri);
  const address = parseUri(target);
  if (wanted === undefined || address === undefined) return target;
  if (wanted.scheme !== 'sip' && wanted.scheme !== 'sips') return target;
  if (wanted.user === undefined) return target;
  const phone = wanted.params.filter(([name, value]) => name === 'user' && value === 'phone');
  return formatUri({ ...address, user: wanted.user, params: [...address.params, ...phone] });
}
