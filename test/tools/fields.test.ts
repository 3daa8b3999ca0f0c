import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { formSchema } from '#src/tools/form.ts';
import { t } from '#src/tools/fields.ts';
import { publishSchema } from '#src/tools/schema.ts';
import { stableJson } from '#src/tools/stable-json.ts';
import { call, never } from './call.ts';

const base64 = (...bytes: (number | string)[]): string =>
  Buffer.concat(
    bytes.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part, 'latin1'))),
  ).toString('base64');
const PNG = base64(0x89, 'PNG\r\n', 0x1a, '\nrest');

/** What a tool gets that is called with this value. */
async function received(field: z.ZodType, value: unknown): Promise<unknown> {
  let it: unknown;
  const tool = { input: z.object({ it: field }) };
  const run = (args: { it: unknown }): void => void (it = args.it);
  const { text, isError } = await call(run, { tool, arguments: { it: value } });
  assert.equal(isError, false, text);
  return it;
}

/** What the assistant reads whose value is refused. */
async function refusal(field: z.ZodType, value: unknown): Promise<string> {
  const tool = { input: z.object({ it: field }) };
  const { text = '', isError } = await call(never, { tool, arguments: { it: value } });
  assert.equal(isError, true);
  return text;
}

describe('a field of a tool', () => {
  const good: [name: string, field: z.ZodType, value: unknown, read: unknown][] = [
    ['a day', t.date(), '2026-07-28', new Date('2026-07-28T00:00:00Z')],
    ['a leap day', t.date(), '2028-02-29', new Date('2028-02-29T00:00:00Z')],
    ['a moment', t.date(), '2026-07-28T09:30:00Z', new Date('2026-07-28T09:30:00Z')],
    ['a moment of another zone', t.date(), '2026-07-28T01:30+02:00', new Date('2026-07-27T23:30Z')],
    [
      'a moment to the part',
      t.date({ time: true }),
      '2026-07-28T09:30:00.125Z',
      new Date(1785231000125),
    ],
    ['midnight', t.time(), '00:00', 0],
    ['a time', t.time(), '14:30', 52_200],
    ['a time to the second', t.time(), '23:59:59', 86_399],
    ['a time as seconds', t.time(), 52_200, 52_200],
    ['bytes', t.binary(), 'AAH/', Buffer.of(0, 1, 255)],
    ['no bytes', t.binary(), '', Buffer.alloc(0)],
    ['as many bytes as may be', t.binary({ maxBytes: 4 }), 'AAAAAA==', Buffer.alloc(4)],
    ['a date left out', t.date().optional(), undefined, undefined],
    ['a time left out', t.time().optional(), undefined, undefined],
  ];
  for (const [name, field, value, read] of good) {
    it(`is read: ${name}`, async () => assert.deepEqual(await received(field, value), read));
  }

  const pictures: [type: string, data: string][] = [
    ['image/png', PNG],
    ['image/jpeg', base64(0xff, 0xd8, 0xff, 0xe0)],
    ['image/gif', base64('GIF87a')],
    ['image/gif', base64('GIF89a')],
    ['image/webp', base64('RIFF\x00\x01\x02\x03WEBPVP8 ')],
  ];
  for (const [mimeType, data] of pictures) {
    it(`is a picture by its own bytes: ${mimeType}`, async () => {
      const read = await received(t.picture(), data);
      assert.deepEqual(read, { data: Buffer.from(data, 'base64'), mimeType });
    });
  }

  const day = 'send a date as YYYY-MM-DD, like 2026-07-28';
  const moment = 'send a date and a time with its zone, like 2026-07-28T09:30:00Z';
  const time = 'send a time of day as HH:MM or HH:MM:SS, from 00:00 to 23:59:59';
  const bytes = 'send the bytes in base64, without line breaks and without a data: prefix';
  const noPicture = 'this is no picture; send a PNG, JPEG, GIF or WebP file in base64';
  const bad: [field: z.ZodType, value: unknown, why: string][] = [
    [t.date(), undefined, 'required'],
    ...[
      '',
      'tomorrow',
      '28.07.2026',
      '2026-7-28',
      '2026-02-30',
      '2026-13-01',
      1_785_231_000,
      null,
    ].map((value): [z.ZodType, unknown, string] => [t.date(), value, day]),
    // Whose half past nine that is nobody can tell.
    [t.date(), '2026-07-28T09:30:00', day],
    [t.date(), '2026-02-30T09:30:00Z', day],
    [t.date(), '2026-07-28T25:00:00Z', day],
    [t.date(), '2026-07-28T09:30:00Z\n', day],
    [t.date({ time: true }), '2026-07-28', moment],
    [t.time(), undefined, 'required'],
    ...['', '9:30', '24:00', '12:60', '12:30:60', '12:30pm', -1, 86_400, 1.5, null, true].map(
      (value): [z.ZodType, unknown, string] => [t.time(), value, time],
    ),
    [t.binary(), undefined, 'required'],
    ...['A', 'AAA', 'AA-_', 'AAAA\n', 'A===', 'data:image/png;base64,AAAA', 5, null, [0, 1]].map(
      (value): [z.ZodType, unknown, string] => [t.binary(), value, bytes],
    ),
    [t.binary({ maxBytes: 4 }), 'AAAAAAA=', 'too large: send at most 4 bytes'],
    [t.binary({ maxBytes: 4 }), '!'.repeat(9), 'too large: send at most 4 bytes'],
    [t.picture(), undefined, 'required'],
    [t.picture(), base64('<svg xmlns="http://www.w3.org/2000/svg"/>'), noPicture],
    [t.picture(), base64('RIFF\x00\x01\x02\x03WAVE'), noPicture],
    [t.picture(), base64(0x89, 'PN'), noPicture],
    [t.picture(), '', noPicture],
    [t.picture({ maxBytes: 8 }), PNG, 'too large: send at most 8 bytes'],
    [
      t.picture(),
      'no base64',
      'send the bytes of a PNG, JPEG, GIF or WebP picture in base64, without line breaks and without a data: prefix',
    ],
  ];
  for (const [field, value, why] of bad) {
    it(`is refused: ${JSON.stringify(value)}, ${why}`, async () => {
      assert.equal(await refusal(field, value), `Invalid parameters: it: ${why}`);
    });
  }

  it('is published as a plain text that says what to send', () => {
    const input = z.object({
      day: t.date(),
      moment: t.date({ time: true }),
      at: t.time(),
      file: t.binary({ maxBytes: 9 }),
      photo: t.picture({ maxBytes: 9 }).optional(),
      due: t.date().describe('When it is due').optional(),
      all: z.array(t.time()),
    });
    const published = publishSchema(input, 'input');
    assert.ok('schema' in published, JSON.stringify(published));
    const clock = {
      type: 'string',
      pattern: '^([01]\\d|2[0-3]):([0-5]\\d)(?::([0-5]\\d))?$',
      description: `S${time.slice(1)}`,
    };
    const inBase64 = 'in base64, without line breaks and without a data: prefix; at most 9 bytes';
    assert.deepEqual(published.schema['properties'], {
      day: { type: 'string', format: 'date', description: `S${day.slice(1)}` },
      moment: { type: 'string', format: 'date-time', description: `S${moment.slice(1)}` },
      at: clock,
      file: {
        type: 'string',
        contentEncoding: 'base64',
        description: `Send the bytes ${inBase64}`,
      },
      photo: {
        type: 'string',
        contentEncoding: 'base64',
        description: `Send the bytes of a PNG, JPEG, GIF or WebP picture ${inBase64}`,
      },
      due: { type: 'string', format: 'date', description: 'When it is due' },
      all: { type: 'array', items: clock },
    });
    assert.deepEqual(published.schema['required'], ['day', 'moment', 'at', 'file', 'all']);
  });

  it('can be asked of a person', () => {
    const { properties } = formSchema(z.strictObject({ due: t.date() }));
    assert.deepEqual(properties, {
      due: { type: 'string', format: 'date', description: `S${day.slice(1)}` },
    });
  });
});

describe('the digest of arguments', () => {
  it('has bytes as one text, and tells them apart', () => {
    assert.equal(
      stableJson({ b: Buffer.of(0, 1), a: new Uint8Array([255]) }),
      '{"a":{"#bytes":"/w=="},"b":{"#bytes":"AAE="}}',
    );
    assert.notEqual(stableJson([Buffer.of(1)]), stableJson([Buffer.of(2)]));
  });
});
