import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LogLevel } from '#src/config.ts';
import type { Event } from '#src/events.ts';
import type { GrantId } from '#src/ids.ts';
import { clean, createLog } from '#src/observe/log.ts';

/** What the log writes for an event. */
function written(event: Event, options: { level?: LogLevel; isTerminal?: boolean } = {}): string {
  let text = '';
  const destination = { write: (line: string) => void (text += line) };
  createLog({ level: options.level ?? 'debug', isTerminal: options.isTerminal, destination })(
    event,
  );
  return text;
}

const REJECTED: Event = { type: 'tools.rejected', file: 'a.ts', reason: 'it threw\nwhile loading' };

describe('the log', () => {
  it('is one JSON line an event, with level, time and name', () => {
    const line = written(REJECTED);
    assert.equal(line.split('\n').length, 2);
    const { time, ...rest } = JSON.parse(line) as Record<string, unknown>;
    assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(rest, {
      level: 'warn',
      event: 'tools.rejected',
      file: 'a.ts',
      reason: 'it threw\nwhile loading',
    });
  });

  it('is a line for people on a terminal, without control characters of others', () => {
    const line = written(REJECTED, { isTerminal: true });
    assert.match(
      line,
      /^\d\d:\d\d:\d\d warn {2}tools\.rejected file=a\.ts reason="it threw\\nwhile loading"\n$/,
    );
  });

  it('brings nothing to a terminal that it would obey or hide', () => {
    const odd = '\u0007\u007f\u009b2J\u009b31m\u202e\u2066\u200b\ufeff\u2028\u2029\u{e0041}\u00ad';
    const event = { ...REJECTED, reason: odd, file: `a${odd}`, [`key${odd}`]: [odd] } as Event;
    const line = written(event, { isTerminal: true });
    assert.match(line, /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u);
    assert.match(line, / reason="\\u0007\\u007f\\u009b2J/);
    assert.ok(line.includes(String.raw`\udb40\udc41\u00ad`));
  });

  it('leaves out what is below its level', () => {
    const issued: Event = { type: 'token.issued', grantId: 'gr_1' as GrantId, kind: 'refresh' };
    assert.equal(written(issued, { level: 'info' }), '');
    assert.notEqual(written(issued, { level: 'debug' }), '');
    assert.equal(written(REJECTED, { level: 'silent' }), '');
  });

  it('is louder about a certificate that clients refuse than about one that will end', () => {
    const about = { subject: 'CN=a.example', notAfter: '2026-12-01T00:00:00.000Z' };
    const levelOf = (reason: string, isValid: boolean): unknown =>
      JSON.parse(written({ type: 'certificate.warning', reason, isValid, ...about })).level;
    assert.equal(levelOf('it ends in 3 days', true), 'warn');
    assert.equal(levelOf('it has expired', false), 'error');
  });

  it('takes what looks like a secret out of text that others wrote', () => {
    const token = `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(30)}.${'b'.repeat(20)}`;
    const cases: [string, string][] = [
      [`bad token ${token}!`, 'bad token [removed]!'],
      [
        'connect postgres://admin:geheim@db:5432/x failed',
        'connect postgres://[removed]@db:5432/x failed',
      ],
      [`refresh ${'Z9_-'.repeat(11)} unknown`, 'refresh [removed] unknown'],
      [
        'a plain sentence about gr_1b2f59fba6ea4f2c32a8a006595296',
        'a plain sentence about gr_1b2f59fba6ea4f2c32a8a006595296',
      ],
    ];
    for (const [text, expected] of cases) {
      assert.equal(clean(text), expected);
      const event: Event = { type: 'server.error', where: 'test', message: text };
      assert.equal((JSON.parse(written(event)) as { message: string }).message, expected);
    }
    assert.equal(clean('x '.repeat(5_000)).length, 2_000);
  });
});
