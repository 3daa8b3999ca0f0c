import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openBrowser, type OpenBrowser } from '../support/browser.ts';
import { samplePages } from '../support/sample-pages.ts';
import { serveSamples, type SampleServer } from '../support/sample-server.ts';

/*
 * The pictures of the pages in docs/pictures: one that is missing is taken, the others stay, because
 * each machine has other fonts. `CASTELLAN_PICTURES=1 node --test test/browser/pictures.test.ts`
 * takes all of them anew. (test/run.ts clears such settings.)
 */

const folder = fileURLToPath(new URL('../../docs/pictures', import.meta.url));
const takesAll = process.env['CASTELLAN_PICTURES'] !== undefined;
const MAX_BYTES = 150_000;
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const WIDTH_OFFSET = 16;

/** Light on a wide screen, dark on a narrow one. */
const LOOKS = {
  'light-1280': { colorScheme: 'light', width: 1280 },
  'dark-390': { colorScheme: 'dark', width: 390 },
} as const;

const WANTED: [file: string, page: string, ...looks: (keyof typeof LOOKS)[]][] = [
  ['login', 'login', 'light-1280', 'dark-390'],
  ['login-wrong-password', 'login, wrong password', 'light-1280'],
  ['login-too-many', 'login, busy', 'light-1280'],
  ['consent', 'consent, verified', 'light-1280', 'dark-390'],
  ['consent-localhost', 'consent, localhost', 'light-1280'],
  ['consent-scheme', 'consent, scheme', 'light-1280'],
  ['done', 'done', 'light-1280', 'dark-390'],
  ['done-cancelled', 'done, cancelled', 'light-1280'],
  ['error', 'error, unknown-client', 'light-1280', 'dark-390'],
  ['error-redirect', 'error, redirect', 'light-1280'],
  ['error-expired', 'error, expired', 'light-1280'],
  ['error-other-browser', 'error, other-browser', 'light-1280'],
  ['home', 'home', 'light-1280', 'dark-390'],
];
const TRANSLATED: typeof WANTED = [
  ['login', 'login, busy', 'dark-390'],
  ['consent', 'consent, scheme', 'light-1280'],
  ['done', 'done', 'dark-390'],
];

const pictures = [
  ...WANTED.map((one) => ({ kind: 'en', prefix: '', one })),
  ...TRANSLATED.map((one) => ({ kind: 'de', prefix: 'de-', one })),
  ...TRANSLATED.map((one) => ({ kind: 'fr', prefix: 'fr-', one })),
].flatMap(({ kind, prefix, one: [file, page, ...looks] }) =>
  looks.map((look) => ({ file: `${prefix}${file}-${look}.png`, kind, page, ...LOOKS[look] })),
);

let samples: SampleServer;
let open: OpenBrowser;

before(async () => {
  await mkdir(folder, { recursive: true });
  samples = await serveSamples({
    en: samplePages(),
    de: samplePages({ language: 'de' }),
    fr: samplePages({ language: 'fr' }),
  });
  open = await openBrowser();
});

after(async () => {
  await open[Symbol.asyncDispose]();
  await samples[Symbol.asyncDispose]();
});

describe('docs/pictures', () => {
  for (const { file, kind, page: name, width, colorScheme } of pictures) {
    it(`has ${file}`, async () => {
      const path = join(folder, file);
      const present = await stat(path).catch(() => undefined);
      if (takesAll || present === undefined) {
        const page = await open.newPage({ width, colorScheme });
        await page.goto(samples.addressOf(name, kind));
        await page.screenshot({ path, fullPage: true });
        await page.context().close();
      }
      const picture = await readFile(path);
      assert.deepEqual(picture.subarray(0, PNG.length), PNG);
      assert.equal(picture.readUInt32BE(WIDTH_OFFSET), width);
      assert.ok(picture.length < MAX_BYTES);
    });
  }

  it('has no others', async () => {
    const wanted = pictures.map(({ file }) => file).toSorted();
    assert.deepEqual((await readdir(folder)).toSorted(), wanted);
  });
});
