/** RFC 5424 table 1. */
const FACILITIES: Readonly<Record<string, number>> = {
  user: 1,
  daemon: 3,
  local0: 16,
  local1: 17,
  local2: 18,
  local3: 19,
  local4: 20,
  local5: 21,
  local6: 22,
  local7: 23,
};

/** RFC 5424 table 2, for the levels we write. */
const SEVERITIES: Readonly<Record<string, number>> = { debug: 7, info: 6, warn: 4, error: 3, fatal: 2 };

/** What stays the same for all messages of a process. */
export interface SyslogHeader {
  readonly facility: string;
  readonly hostname: string;
  readonly appName: string;
  readonly processId: number;
}

/** RFC 5426 §3.2: receivers take 2048 bytes; most take far more, but a datagram must fit. */
const MAX_DATAGRAM = 8192;

/**
 * One log line (JSON with `level` and `time` in front, as log.ts writes it) as an RFC 5424 message: the line itself is
 * MSG, without structured data.
 */
export function syslogMessage(line: string, header: SyslogHeader): Buffer {
  const match = /^\{"level":"(\w+)","time":"([^"]{1,40})"/.exec(line);
  const severity = SEVERITIES[match?.[1] ?? ''] ?? SEVERITIES['info'];
  const priority = (FACILITIES[header.facility] ?? 16) * 8 + (severity ?? 6);
  const { hostname, appName, processId } = header;
  return Buffer.from(
    `<${priority}>1 ${match?.[2] ?? '-'} ${hostname} ${appName} ${processId} - - ${line}`,
    'utf8',
  );
}

/** As a datagram: cut if it would not fit (RFC 5426 §3.2). */
export function syslogDatagram(message: Buffer): Buffer {
  return message.length <= MAX_DATAGRAM ? message : message.subarray(0, MAX_DATAGRAM);
}

/** On a stream: octet counting (RFC 6587 §3.4.1, RFC 5425 §4.3). */
export function syslogFrame(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${message.length} `, 'latin1'), message]);
}
