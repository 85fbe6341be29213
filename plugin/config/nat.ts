import { z } from 'zod';
import { headerKey } from '../message/header-name';
import { STANDARD_HEADERS } from '../message/standard-headers';
import { count, seconds, secret } from './values';

/** When a REGISTER gets our Path. */
export const PATH_MODES = ['always', 'when_supported'] as const;

/** A header of our own: one that SIP knows would be stripped from every request, one that orders the embedded server sent to it. */
const isFree = (header: string): boolean => {
  const name = headerKey(header);
  return !STANDARD_HEADERS.has(name) && (!name.startsWith('x-dsbc-') || name === 'x-dsbc-flow');
};

const key = z.strictObject({
  id: count(0, 255).describe('Number that tokens carry to name this key.'),
  secret: secret(16).describe('At least 16 characters; the same on every instance of the group.'),
});

export const nat = z
  .strictObject({
    path: z
      .enum(PATH_MODES)
      .default('always')
      .describe('`always`: on every REGISTER. `when_supported`: only if the device says `Supported: path`.'),
    keys: z
      .array(key)
      .max(2, 'at most two keys: the one that is issued and the one before it')
      .default([])
      .describe(
        'First: issued. Second: still accepted. None: a random one for this process (one instance only).',
      ),
    header: z
      .string()
      .regex(/^[A-Za-z0-9!%*_+`'~.-]{1,64}$/, 'a header name')
      .refine(isFree, 'a header name that nothing else uses, such as X-DSBC-Flow: no standard SIP header')
      .default('X-DSBC-Flow')
      .describe('Tells a site with `nat_dialogs: bypass` the flow; stripped from whatever endpoints send.'),
    max_bindings: count(1, 10_000_000).default(500_000).describe('Registrations kept for keepalive.'),
    keepalive: z
      .strictObject({
        enabled: z.boolean().default(true).describe('OPTIONS to endpoints behind NAT on UDP.'),
        interval_s: seconds(5, 600).default(25).describe('Time between two pings of a binding.'),
        misses: count(1, 100).default(3).describe('Pings in a row without an answer that end the pinging.'),
        timeout_s: seconds(1, 32).default(4).describe('A ping without an answer for so long is a miss.'),
      })
      .prefault({})
      .describe("Keeps the device's NAT open."),
  })
  .prefault({})
  .describe('Flow tokens and keepalive.');
