import { z } from 'zod';
import { count, hostPort, milliseconds, seconds, secret } from './values';

/** What an unknown key gets while the registry can't be asked. */
export const REGISTRY_ON_ERROR = ['default_system', 'reject'] as const;
export const CONSISTENCIES = ['LOCAL_ONE', 'LOCAL_QUORUM', 'QUORUM', 'ONE', 'EACH_QUORUM', 'ALL'] as const;

const onError = z
  .enum(REGISTRY_ON_ERROR)
  .default('default_system')
  .describe(
    'For keys that are not cached while the registry is away: the default system, or 503 with Retry-After.',
  );

const changesPoll = milliseconds(100, 60_000)
  .default(1000)
  .describe('How often changes made by other processes are looked for.');

const memory = z.strictObject({
  driver: z.literal('memory').describe('In this process only, gone at its end: for tests.'),
  on_error: onError,
});

const lmdb = z.strictObject({
  driver: z.literal('lmdb').describe('One file, one machine.'),
  path: z.string().min(1).describe('The database file; relative to the configuration file.'),
  max_size_mb: count(1, 1_048_576)
    .default(16_384)
    .describe('Largest size of the file (address space, not disk).'),
  changes_poll_ms: changesPoll,
  on_error: onError,
});

const cassandraTls = z.strictObject({
  ca_file: z.string().min(1).optional().describe('PEM file with the CA; default: the CAs of Node.'),
  cert_file: z.string().min(1).optional().describe('PEM file with our certificate, for mutual TLS.'),
  key_file: z.string().min(1).optional().describe('PEM file with its key.'),
  verify: z.boolean().default(true).describe("Check the node's certificate."),
});

const cassandra = z.strictObject({
  driver: z.literal('cassandra').describe('Shared by all instances.'),
  contact_points: z.array(hostPort).min(1, 'at least one contact point').describe('Nodes to begin with.'),
  local_datacenter: z.string().min(1).describe('Data centre whose nodes are asked.'),
  keyspace: z
    .string()
    .regex(/^[a-zA-Z][a-zA-Z0-9_]{0,47}$/, 'a keyspace name of letters, digits and "_" (48 at most)')
    .default('dsbc')
    .describe('Keyspace; `dsbc registry init` makes it.'),
  replication: z
    .record(z.string().min(1), count(1, 100))
    .optional()
    .describe('Replicas per data centre, for `dsbc registry init`. Default: 3 in `local_datacenter`.'),
  username: z.string().min(1).optional().describe('User, if Cassandra wants one.'),
  password: secret(1).optional().describe('Its password.'),
  tls: cassandraTls.optional().describe('TLS to the nodes; absent: none.'),
  consistency: z.enum(CONSISTENCIES).default('LOCAL_QUORUM').describe('For reads and writes.'),
  connect_timeout_ms: milliseconds(50, 60_000).default(1000).describe('Longest wait for a connection.'),
  read_timeout_ms: milliseconds(10, 60_000).default(500).describe('Longest wait for one answer of one node.'),
  deadline_ms: milliseconds(10, 60_000)
    .default(800)
    .describe('Longest wait for a look-up, retries included.'),
  max_concurrent: count(1, 100_000).default(512).describe('Look-ups under way at once; more fail at once.'),
  reconnect_max_ms: milliseconds(100, 600_000)
    .default(5000)
    .describe('Longest pause before a node is tried again.'),
  changes_poll_ms: changesPoll,
  changes_ttl_s: seconds(60, 604_800).default(3600).describe('How long a change stays to be read by others.'),
  on_error: onError,
});

export const registry = z
  .discriminatedUnion('driver', [memory, lmdb, cassandra])
  .describe('The forwarding registry: which system holds each account and DID. Absent: `driver: memory`.');

export const cache = z
  .strictObject({
    max_entries: count(1, 50_000_000).default(500_000).describe('Answers kept.'),
    ttl_s: seconds(1, 86_400).default(60).describe('Age at which an answer is asked for anew.'),
    negative_ttl_s: seconds(1, 86_400).default(5).describe('The same for "there is none".'),
    stale_while_revalidate_s: seconds(0, 86_400)
      .default(30)
      .describe(
        'Past its TTL an answer is still served for so long while it is asked for in the background.',
      ),
    stale_if_error_s: seconds(0, 604_800)
      .default(14_400)
      .describe('Past its TTL an answer is still served for so long while the registry is away.'),
    retry_after_error_ms: milliseconds(10, 60_000)
      .default(1000)
      .describe('Pause before a key is asked for again after a failure.'),
  })
  .prefault({})
  .describe('What is remembered of the registry.');
