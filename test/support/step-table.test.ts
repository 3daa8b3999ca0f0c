import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestEnd } from './outcome.ts';
import { stepTable } from './step-table.ts';

function ended(path: string, end: TestEnd['end'] = 'passed'): TestEnd {
  return { path: path.split(' > '), end };
}

describe('the table of the client tests', () => {
  it('has a line for each client and database, in the order of the files', () => {
    const tests = [ended('App > sqlite > register'), ended('App > postgres > register')];
    const table = stepTable([
      { name: 'b.test.ts', tests: [ended('Other app > sqlite > register')] },
      { name: 'a.test.ts', tests },
    ]);
    assert.equal(
      table,
      [
        'client     on        register',
        'App        sqlite    ok',
        'App        postgres  ok',
        'Other app  sqlite    ok',
      ].join('\n'),
    );
  });

  it('says what failed, what was not reached, and what a client does not have', () => {
    const table = stepTable([
      {
        name: 'a.test.ts',
        tests: [
          ended('App > sqlite > register', 'failed'),
          ended('App > sqlite > call', 'skipped'),
          ended('App > sqlite > habits > one'),
          ended('App > sqlite > habits > two', 'failed'),
          ended('App > sqlite > habits > three'),
          ended('Tool > sqlite > register'),
          ended('Tool > sqlite > call'),
        ],
      },
    ]);
    assert.equal(
      table,
      [
        'client  on      register  call  habits',
        'App     sqlite  FAILED    -     FAILED',
        'Tool    sqlite  ok        ok',
      ].join('\n'),
    );
  });

  it('is empty without such tests', () => {
    assert.equal(stepTable([{ name: 'a.test.ts', tests: [ended('suite > test')] }]), '');
  });
});
