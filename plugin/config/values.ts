import { isIP } from 'node:net';
import { z } from 'zod';
import { isHost, isOneHost, parseHostPort, parseNet, sameSpelling } from './address';

// The small values that configuration is made of. A refusal's message says what was expected, nothing else:
// load.ts adds file, line, path and what was found.

/** A name that people give to things: letters, digits, `.`, `_`, `-`, 64 characters at most. */
export const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'a name of letters, digits, ".", "_" or "-" (64 at most)');

/** An IPv4 or IPv6 address, without brackets. */
export const ipAddress = z.string().refine((text) => isIP(text) !== 0, 'an IPv4 or IPv6 address');

/** False where a host is an address that is not one machine's. */
const isReachable = (text: string): boolean => isIP(text) === 0 || isOneHost(text);

/**
 * An address that one machine has, in one spelling: others send to it, so that it can't stand for all addresses or for
 * many machines.
 */
export const ownAddress = ipAddress
  .refine(
    isReachable,
    'the address of one machine, which others can send to (not 0.0.0.0 or ::, no multicast or broadcast address)',
  )
  .transform(sameSpelling);

/** A network in CIDR notation or one address. */
export const net = z
  .string()
  .refine((text) => parseNet(text) !== undefined, 'a network such as 192.0.2.0/24 or 2001:db8::/32');

/** A DNS name or an IP address. */
export const host = z
  .string()
  .refine((text) => isHost(text) && isReachable(text), 'a host name, or the IP address of one machine');

/** `host` or `host:port`, IPv6 in brackets when a port follows. */
export const hostPort = z
  .string()
  .refine(
    (text) => isReachable(parseHostPort(text)?.host ?? '0.0.0.0'),
    'a host, or host:port ([address]:port for IPv6), of one machine',
  );

/** The host part of a SIP URI that we build: a DNS name, an IPv4 address, or an IPv6 address in brackets. */
export const domain = z
  .string()
  .refine(
    (text) => parseHostPort(text) !== undefined && !text.startsWith('::'),
    'a domain name or an address',
  );

export const port = z.int().min(1).max(65535);
/** A port to listen on; 0 lets the kernel choose one. */
export const listenPort = z.int().min(0).max(65535);

/** A duration in milliseconds between two bounds. */
export const milliseconds = (least: number, most: number): z.ZodInt => z.int().min(least).max(most);
/** A duration in seconds between two bounds. */
export const seconds = (least: number, most: number): z.ZodInt => z.int().min(least).max(most);
export const count = (least: number, most: number): z.ZodInt => z.int().min(least).max(most);

/**
 * A secret: never echoed in an error, never logged, marked `writeOnly` in the JSON Schema.
 * The least length is what keeps guessing hopeless.
 */
export const secret = (least: number): z.ZodString =>
  z
    .string()
    .min(least, `a secret of at least ${least} characters`)
    .max(1024, 'a secret of at most 1024 characters')
    .meta({ writeOnly: true });

/** A SIP status code of a final answer that is not a success. */
export const failureStatus = z.int().min(300).max(699);

/**
 * A status that says something of the node that sent it, so that another may do better: silence (408), a flow that is
 * gone (430), and the server's own faults (5xx). Redirections, refusals, a busy or absent callee (RFC 3261 §21.3, §21.4,
 * §21.6) and what the request itself lacks (501, 505, 513, 580) are the same anywhere.
 */
export const failoverStatus = z
  .int()
  .refine(
    (status) =>
      [408, 430].includes(status) ||
      (status >= 500 && status <= 599 && ![501, 505, 513, 555, 580].includes(status)),
    '408, 430, or a fault of the server (500 to 599 but 501, 505, 513, 555 and 580): what callee or caller cause, such as 404, 480, 486 or 603, no other node does better',
  );

/**
 * A map by name. The value has no prototype, so a name such as `constructor` that comes from outside
 * finds nothing.
 */
export const byName = <Value extends z.ZodType>(value: Value) =>
  z
    .record(name, value)
    .transform((record): Readonly<Record<string, z.output<Value>>> =>
      Object.assign(Object.create(null) as Record<string, z.output<Value>>, record),
    );
