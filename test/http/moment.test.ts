import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY, HOUR, MINUTE, SECOND } from '#src/clock.ts';
import { textsFor } from '#src/http/language.ts';
import { describeMoment } from '#src/http/moment.ts';

const t = textsFor('en');
const now = Date.parse('2026-11-30T14:32:20Z');

describe('describeMoment', () => {
  const cases: [away: number, absolute: string, relative: string, distance: string][] = [
    [-88 * DAY, '3 September 2026', '88 days ago', '88 days'],
    [-2 * DAY, '28 November 2026', '2 days ago', '2 days'],
    [-DAY, '29 November 2026', '24 hours ago', '24 hours'],
    [-3 * HOUR, '11:32 UTC', '3 hours ago', '3 hours'],
    [-90 * MINUTE, '13:02 UTC', '90 minutes ago', '90 minutes'],
    [-MINUTE, '14:31 UTC', '1 minute ago', '1 minute'],
    [-59 * SECOND, '14:31 UTC', 'just now', '1 minute'],
    [0, '14:32 UTC', 'just now', '1 minute'],
    [SECOND, '14:33 UTC', 'in 1 minute', '1 minute'],
    [4 * MINUTE, '14:37 UTC', 'in 5 minutes', '5 minutes'],
    [4 * MINUTE - 20 * SECOND, '14:36 UTC', 'in 4 minutes', '4 minutes'],
    [12 * HOUR, '02:33 UTC', 'in 12 hours', '12 hours'],
    [90 * DAY, '28 February 2027', 'in 90 days', '90 days'],
    [90 * DAY - HOUR, '28 February 2027', 'in 90 days', '90 days'],
  ];
  for (const [away, absolute, relative, distance] of cases) {
    it(`${relative}, ${absolute}`, () => {
      const { iso, ...words } = describeMoment(now + away, now, t);
      assert.deepEqual(words, { absolute, relative, distance });
      assert.ok(!Number.isNaN(Date.parse(iso)));
    });
  }

  it('has come when the clock shows it', () => {
    for (let away = SECOND; away < HOUR; away += 7 * SECOND) {
      const { iso } = describeMoment(now + away, now, t);
      assert.ok(Date.parse(iso) >= now + away);
    }
  });

  it('speaks the language of the texts', () => {
    const german = textsFor('de');
    assert.deepEqual(describeMoment(now - 88 * DAY, now, german), {
      absolute: '3. September 2026',
      iso: '2026-09-03',
      relative: 'vor 88 Tagen',
      distance: '88 Tage',
    });
    assert.equal(describeMoment(now, now, german).relative, 'gerade eben');
    const french = textsFor('fr');
    assert.deepEqual(describeMoment(now + 90 * DAY, now, french), {
      absolute: '28 février 2027',
      iso: '2027-02-28',
      relative: 'dans 90 jours',
      distance: '90\u00A0jours',
    });
    assert.equal(describeMoment(now, now, french).relative, 'à l’instant');
  });
});
