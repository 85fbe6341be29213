import { z } from 'zod';
import { count, failoverStatus, failureStatus, milliseconds, net, seconds } from './values';

const ejection = z
  .strictObject({
    consecutive: count(1, 1000)
      .default(3)
      .describe('Time-outs, transport errors or 503s in a row that eject a node.'),
    base_s: seconds(1, 3600)
      .default(10)
      .describe('Length of the first ejection; each further one is longer by it.'),
    max_s: seconds(1, 86_400).default(300).describe('Longest ejection.'),
    max_percent: z
      .int()
      .min(0)
      .max(100)
      .default(50)
      .describe('At most this share of the nodes of a system is ejected.'),
  })
  .prefault({})
  .describe('Nodes that fail real traffic are left out for a time that grows.');

export const health = z
  .strictObject({
    interval_ms: milliseconds(100, 600_000)
      .default(800)
      .describe(
        'Time between two OPTIONS probes of a node. With the defaults a silent node is out within 1.9 s.',
      ),
    timeout_ms: milliseconds(50, 60_000)
      .default(500)
      .describe('A probe without an answer for so long is a miss; at most `interval_ms`.'),
    jitter_percent: z
      .int()
      .min(0)
      .max(50)
      .default(10)
      .describe('Each interval is longer or shorter by up to so much.'),
    rise: count(1, 100).default(2).describe('Answers in a row that bring a node up.'),
    fall: count(1, 100).default(2).describe('Misses in a row that take a node down.'),
    down_codes: z.array(failureStatus).default([503]).describe('Answers that count as a miss.'),
    ejection,
  })
  .prefault({})
  .describe('How the nodes are watched.');

export const failover = z
  .strictObject({
    timeout_ms: milliseconds(200, 32_000)
      .default(2000)
      .describe(
        'No answer for so long: the next node. At least 2000 for INVITE, else both sites get the call.',
      ),
    max_attempts: count(1, 10).default(3).describe('Nodes tried for one request.'),
    total_ms: milliseconds(500, 32_000)
      .default(8000)
      .describe('All attempts end before the caller gives up.'),
    message_on_silence: z
      .boolean()
      .default(false)
      .describe('Also for MESSAGE and REFER: the first site may do it late, so that it is done twice.'),
    codes: z
      .array(failoverStatus)
      .default([408, 503])
      .describe(
        'Answers after which the next node is tried: 408, 430 and faults of the server (5xx but 501, 505, 513, 555, 580); a busy or a refusal is not taken here.',
      ),
  })
  .prefault({})
  .describe('When one request moves on to the next node.');

export const limits = z
  .strictObject({
    max_in_flight: count(1, 1_000_000).default(20_000).describe('Requests under way at once; more get 503.'),
    per_source: z
      .strictObject({
        requests_per_s: count(1, 1_000_000)
          .default(200)
          .describe('Requests per second from one address, over time.'),
        burst: count(1, 1_000_000).default(1000).describe('Requests at once before that counts.'),
        in_flight_percent: count(1, 100)
          .default(50)
          .describe(
            'How much of `max_in_flight` the requests of one address may be, in percent; more get 503. A call counts until it is answered or given up, so that calls that ring fill it without being fast.',
          ),
        failed_requests: count(1, 1_000_000)
          .default(50)
          .describe(
            'So many different addresses that a source asks for in vain within `failed_window_s`, without any success (2xx, 3xx) between them, block it: its requests end 400, 403, 404, 414, 416, 420, 481, 482 or 483, by whom and for whatever domain. The address is that of the To of a REGISTER, else of the From, as sent; of an INVITE that gets to no site, together with the called one.',
          ),
        failed_window_s: seconds(1, 3600).default(60).describe('Length of that window.'),
        block_s: seconds(1, 86_400)
          .default(60)
          .describe('How long a source stays blocked: it gets no answer at all.'),
        max_sources: count(100, 10_000_000)
          .default(200_000)
          .describe('Sources kept count of; the oldest are forgotten.'),
        exempt_nets: z.array(net).default([]).describe('Never limited. Sites and peers never are.'),
      })
      .prefault({})
      .describe('Against scanners and floods; an office behind one address is an ordinary source.'),
  })
  .prefault({})
  .describe('What protects the platform.');
