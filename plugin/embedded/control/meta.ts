import type { Flow } from '../transport/flow';

const two = (value: number): string => String(value).padStart(2, '0');

/** The time of day (UTC) as the control protocol writes it. */
export function timeToken(date = new Date()): string {
  const hours = two(date.getUTCHours());
  const minutes = two(date.getUTCMinutes());
  const seconds = two(date.getUTCSeconds());
  return `${hours}:${minutes}:${seconds}.${String(date.getUTCMilliseconds()).padStart(3, '0')}000`;
}

/** `source|bytes|protocol|address|port|time`; without a flow the message is the server's own, and address and port are empty. */
export function metaTokens(source: 'network' | 'application', bytes: number, flow: Flow | undefined): string {
  const where = flow ? `${flow.transport}|${flow.address}|${flow.port}` : 'udp||';
  return `${source}|${bytes}|${where}|${timeToken()}`;
}
