import type { FlowChoice, HeaderLine, LinkCapabilities, ProxyOptions } from './sip-link';

/*
 * Header lines that are orders to a server with capabilities of its own (plugin/embedded/CONTROL.md). They are
 * never sent on; drachtio-server does not know them and must never be given one.
 */

const PREFIX = 'x-dsbc-';

/** Lines of the caller's that would be taken for orders are left out. */
export const withoutOrders = (headers: readonly HeaderLine[]): readonly HeaderLine[] =>
  headers.filter(([name]) => !name.toLowerCase().startsWith(PREFIX));

export function flowOrders(choice: FlowChoice, can: LinkCapabilities): HeaderLine[] {
  const orders: HeaderLine[] = [];
  if (choice.entry && can.entrySelection) {
    const { address, port } = choice.entry;
    orders.push(['X-Dsbc-Entry', address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`]);
  }
  if (choice.existingFlow === true && can.existingFlow) orders.push(['X-Dsbc-Existing-Flow', 'yes']);
  return orders;
}

export function proxyOrders(options: ProxyOptions, can: LinkCapabilities): HeaderLine[] {
  const orders = flowOrders(options, can);
  if (options.failoverStatuses && can.failoverByStatus) {
    orders.push(['X-Dsbc-Failover', options.failoverStatuses.join(',')]);
  }
  if (options.recordRouteUser !== undefined && can.flowRecordRoute) {
    orders.push(['X-Dsbc-Record-Route-User', options.recordRouteUser]);
  }
  if (options.removeHeaders && options.removeHeaders.length > 0 && can.removeHeaders) {
    orders.push(['X-Dsbc-Remove', options.removeHeaders.join(', ')]);
  }
  if (options.requestUri !== undefined && can.proxiedRequestUri) {
    orders.push(['X-Dsbc-Request-Uri', options.requestUri]);
  }
  return orders;
}

/** How long the server itself should keep an own transaction, where it can be told. */
export const timeoutOrder = (timeoutMs: number, can: LinkCapabilities): HeaderLine[] =>
  can.cancelOwnTransactions ? [['X-Dsbc-Timeout', String(Math.ceil(timeoutMs))]] : [];

export const dropOrder = (retransmissions: 'swallow' | 'take'): HeaderLine => [
  'X-Dsbc-Drop',
  retransmissions === 'take' ? 'forget' : 'yes',
];
export const abandonOrder: HeaderLine = ['X-Dsbc-Abandon', 'yes'];
