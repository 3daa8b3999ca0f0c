import { pino, type DestinationStream, type Logger } from 'pino';
import type { LogLevel } from '#src/config.ts';
import type { Emit, Event } from '#src/events.ts';

/*
 * The log: a subscriber of events. One JSON line each, or on a terminal a line for people. Events hold
 * no secret, so none can get in; text that others wrote is cut and cleaned of what looks like one.
 */

export interface LogOptions {
  level: LogLevel;
  /** Lines for people instead of JSON. */
  isTerminal?: boolean | undefined;
  /** Where lines go; stderr by default, so that stdout stays for results. */
  destination?: DestinationStream | undefined;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

const SECRET_LIKE =
  /\beyJ[\w-]+\.[\w-]+\.[\w-]+|(?<=postgres(?:ql)?:\/\/)[^@\s]+(?=@)|\b[A-Za-z0-9_-]{40,}/g;
const MAX_MESSAGE = 2_000;
/** Fields that hold text which others wrote. */
const FOREIGN = new Set([
  'message',
  'stack',
  'reason',
  'outcome',
  'path',
  'error',
  'url',
  'subject',
]);

export function createLog(options: LogOptions): Emit {
  const output = options.destination ?? pino.destination({ fd: 2, sync: true });
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.isTerminal ? { write: (line: string) => output.write(forPeople(line)) } : output,
  );
  return (event) => write(logger, event);
}

/** Text of foreign origin, without what looks like a token or a password. */
export function clean(text: string): string {
  return text.slice(0, MAX_MESSAGE).replaceAll(SECRET_LIKE, '[removed]');
}

function write(logger: Logger, event: Event): void {
  const { type, ...rest } = event;
  const fields = Object.entries(rest).map(([key, value]) => [
    key,
    typeof value === 'string' && FOREIGN.has(key) ? clean(value) : value,
  ]);
  logger[levelOf(event)]({ event: type, ...Object.fromEntries(fields) });
}

function levelOf(event: Event): Level {
  switch (event.type) {
    case 'server.error':
      return 'error';
    case 'certificate.warning':
      return event.isValid ? 'warn' : 'error';
    case 'certificate.rejected':
    case 'tools.rejected':
    case 'tools.warning':
    case 'roles.warning':
    case 'roles.rejected':
    case 'login.throttled':
    case 'session.refused':
    case 'grant.revoked':
    case 'http.refused':
      return 'warn';
    case 'tool.log':
      return event.level;
    case 'tool.called':
    case 'request.denied':
    case 'token.issued':
    case 'client.document':
      return 'debug';
    default:
      return 'info';
  }
}

/** `14:36:07 warn  tools.rejected file=a.ts reason="it threw"`. */
function forPeople(line: string): string {
  const { level, time, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${plainOrQuoted(value)}`);
  const text = `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${[event, ...rest].join(' ')}`;
  return `${escapeInvisible(text)}\n`;
}

/**
 * What a terminal would obey or hide: control characters, of which JSON leaves U+0080 to U+009F as
 * they are, what changes the direction of text, and other line ends.
 */
function escapeInvisible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
  });
}

function plainOrQuoted(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}
