import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

/*
 * docs/threat-model.md promises a test for each threat. A test that was renamed or removed, or a threat
 * that has none, fails here.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The rooms that are finished: each of their threats has a test. */
const FINISHED = ['Login and consent', 'Tokens', 'Fetching'];

interface Threat {
  room: string;
  text: string;
  proofs: { file: string; title: string }[];
}

/** The list: `## room`, below it `- **threat**`, below that its tests. */
function readThreats(markdown: string): Threat[] {
  const threats: Threat[] = [];
  let room = '';
  for (const line of markdown.split('\n')) {
    const proof = /^ {2}- `(test\/[^`]+)`: (.+)$/.exec(line);
    const threat = threats.at(-1);
    if (line.startsWith('## ')) room = line.slice(3);
    else if (line.startsWith('- ')) threats.push({ room, text: line.slice(2), proofs: [] });
    else if (proof !== null) threat?.proofs.push({ file: proof[1] ?? '', title: proof[2] ?? '' });
    else if (line.startsWith('  - ')) assert.fail(`This names no test: ${line}`);
    else if (line.startsWith('  ') && threat !== undefined) threat.text += ` ${line.trim()}`;
  }
  return threats;
}

const TEST = /\bit\(\s*(?:(['"`])((?:\\.|(?!\1)[^\\])*)\1|(\w+)(?: \?\? '')?),/g;
const TEXT = /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g;

/**
 * Whether a source has a test of exactly this title. The titles of tables are made of parts: each part
 * must be written in the source as a text or a number of its own.
 */
function hasTest(source: string, title: string): boolean {
  const texts = new Set([...source.matchAll(TEXT)].map(([, , text = '']) => unescape(text)));
  const isWritten = (part: string): boolean => texts.has(part) || /^\d+$/.test(part);
  return [...source.matchAll(TEST)].some(([, , written, name]) => {
    const pattern = written === undefined ? `\${${name}}` : written;
    const parts = pattern.split(/\$\{[^}]*\}/).map((part) => RegExp.escape(unescape(part)));
    const match = new RegExp(`^${parts.join('(.+)')}$`).exec(title);
    return match !== null && match.slice(1).every(isWritten);
  });
}

function unescape(text: string): string {
  return text.replaceAll(/\\(['"`\\])/g, '$1');
}

describe('the threat model', () => {
  it('names tests that exist, under their exact names', async () => {
    const threats = readThreats(await readFile(join(ROOT, 'docs/threat-model.md'), 'utf8'));
    const missing: string[] = [];
    for (const { file, title } of threats.flatMap(({ proofs }) => proofs)) {
      const source = await readFile(join(ROOT, file), 'utf8').catch(() => '');
      if (!hasTest(source, title)) missing.push(`${file}: ${title}`);
    }
    assert.deepEqual(missing, []);
  });

  it('has a test for every threat, or says with what it comes', async () => {
    const threats = readThreats(await readFile(join(ROOT, 'docs/threat-model.md'), 'utf8'));
    for (const room of FINISHED) {
      assert.ok(threats.filter((threat) => threat.room === room).length > 8, room);
    }
    const open = threats.filter(({ proofs }) => proofs.length === 0);
    assert.deepEqual(
      open.filter(
        ({ room, text }) =>
          FINISHED.includes(room) || !/\. Comes\b/.test(text.replaceAll('**', '')),
      ),
      [],
    );
  });

  it('would notice a test that is not there', () => {
    const source =
      "it('is there', () => {}); it(`${status}: ${name} here`, f); it(why, f); [404, 'one', 'two']";
    for (const title of ['is there', '404: one here', 'two'])
      assert.ok(hasTest(source, title), title);
    for (const title of ['is not there', 'is', '404: three here', 'x: one here', 'one two', '']) {
      assert.equal(hasTest(source, title), false, title);
    }
  });
});
