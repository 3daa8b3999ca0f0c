import { z } from 'zod';
import { decodeBase64 } from './base64.ts';
import { HEADER_KEYWORD } from './mirrored.ts';
import { pictureType, type Picture } from './picture.ts';

/*
 * Fields of a tool's input that JSON has no type for. Clients are told of a text and how it is
 * written; the tool gets a date, a time of day, bytes or a picture. What is wrong is said in words by
 * which an assistant can do better.
 */

export interface BytesOptions {
  /** The most bytes that are taken; 4 MiB when left out. */
  maxBytes?: number;
}

const LARGEST_BYTES = 4 * 1024 * 1024;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MOMENT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const SECONDS_PER_DAY = 86_400;

/** Fields beside those of zod; `optional()`, `describe()` and the like work as on any other. */
export const t = { date, time, binary, picture, header };

/**
 * A day, `2026-07-28`, as a Date: the beginning of that day in UTC. A moment with its zone,
 * `2026-07-28T09:30:00+02:00`, is taken too, as it is.
 * @param options with `time`, only a moment will do.
 */
function date(options: { time?: boolean } = {}): z.ZodType<Date, string> {
  const [format, why] =
    options.time === true
      ? ['date-time', 'send a date and a time with its zone, like 2026-07-28T09:30:00Z']
      : ['date', 'send a date as YYYY-MM-DD, like 2026-07-28'];
  return z
    .string(why)
    .meta({ format, description: told(why) })
    .transform((text, context) => {
      const read = readMoment(text) ?? (options.time === true ? undefined : readDay(text));
      return read ?? refuse(context, why);
    });
}

/** A time of day, `14:30` or `14:30:15`, as seconds since midnight: 0 to 86,399. */
function time(): z.ZodType<number> {
  const why = 'send a time of day as HH:MM or HH:MM:SS, from 00:00 to 23:59:59';
  const text = z
    .string(why)
    .meta({ pattern: TIME.source, description: told(why) })
    .transform((value, context) => {
      const [, hours, minutes, seconds = 0] = TIME.exec(value) ?? [];
      if (hours === undefined) return refuse(context, why);
      return Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
    });
  // Some assistants count the seconds themselves.
  return z.preprocess((value) => (isSecondOfDay(value) ? clockText(value) : value), text);
}

/** Bytes, sent in base64, as a Buffer. */
function binary({ maxBytes = LARGEST_BYTES }: BytesOptions = {}): z.ZodType<Buffer, string> {
  return bytes(maxBytes, 'the bytes');
}

/**
 * A PNG, JPEG, GIF or WebP picture, sent in base64. Its type is what its own bytes say; that the rest
 * of the file is sound is for whoever draws it to find out.
 */
function picture({ maxBytes = LARGEST_BYTES }: BytesOptions = {}): z.ZodType<Picture, string> {
  return bytes(maxBytes, 'the bytes of a PNG, JPEG, GIF or WebP picture').transform(
    (data, context) => {
      const mimeType = pictureType(data);
      if (mimeType !== undefined) return { data, mimeType };
      return refuse(context, 'this is no picture; send a PNG, JPEG, GIF or WebP file in base64');
    },
  );
}

/**
 * A text, integer or boolean that clients of MCP 2026-07-28 send in the header `Mcp-Param-<name>` too,
 * for proxies to route by. Everything between client and server can read it: never a secret.
 * @param name 1 to 64 letters, digits and `-`, one field each.
 */
function header<Field extends z.ZodType>(name: string, field: Field): Field {
  return field.meta({ [HEADER_KEYWORD]: name });
}

/** @param what names the bytes in what the assistant reads. */
function bytes(maxBytes: number, what: string): z.ZodPipe<z.ZodString, z.ZodTransform<Buffer>> {
  const why = `send ${what} in base64, without line breaks and without a data: prefix`;
  const tooLarge = `too large: send at most ${maxBytes} bytes`;
  return z
    .string(why)
    .meta({ contentEncoding: 'base64', description: `${told(why)}; at most ${maxBytes} bytes` })
    .transform((text, context) => {
      // Four letters are three bytes: what is too long is not even decoded.
      if (text.length > Math.ceil(maxBytes / 3) * 4) return refuse(context, tooLarge);
      const data = decodeBase64(text);
      if (data === undefined) return refuse(context, why);
      return data.length <= maxBytes ? data : refuse(context, tooLarge);
    });
}

function readDay(text: string): Date | undefined {
  if (!DAY.test(text)) return undefined;
  const day = new Date(`${text}T00:00:00Z`);
  // The 30th of February is read as the 2nd of March.
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text) ? day : undefined;
}

function readMoment(text: string): Date | undefined {
  const [, day = ''] = MOMENT.exec(text) ?? [];
  if (readDay(day) === undefined) return undefined;
  const moment = new Date(text);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}

function isSecondOfDay(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) < SECONDS_PER_DAY;
}

function clockText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(11, 19);
}

/** `send a date` -> `Send a date`. */
function told(why: string): string {
  return why.charAt(0).toUpperCase() + why.slice(1);
}

function refuse(context: z.RefinementCtx, why: string): never {
  context.addIssue({ code: 'custom', message: why });
  return z.NEVER;
}
