import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { MINUTE } from '#src/clock.ts';
import { revokeGrants } from '#src/storage/revoke.ts';
import { tool } from '#src/tools/define.ts';
import { DIALECTS, startTestApp, type TestApp } from '../support/app.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { callTool, obtainTokens, registerClient } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/** Bytes that a tool returned, fetched from the address that its caller was told. */

const BYTES = Buffer.from('\0\u0001 some secret bytes');
const values: Record<string, () => unknown> = {
  buffer: () => BYTES,
  view: () => new Uint8Array(Buffer.concat([Buffer.alloc(3), BYTES])).subarray(3),
  blob: () => new Blob([BYTES], { type: 'text/html' }),
  odd: () => new Blob([BYTES], { type: 'text/html; charset="x"' }),
  large: () => Buffer.alloc(16 * 1024 * 1024 + 1),
  nested: () => ({ file: BYTES }),
};

for (const dialect of DIALECTS) {
  describe(`bytes that a tool returns on ${dialect}`, () => {
    let app: TestApp;
    let clock: TestClock;
    let token: string;
    before(async () => {
      clock = createTestClock();
      const tools = Object.entries(values).map(([name, make]) =>
        tool({ name, input: z.object({}), run: make }),
      );
      const roles = { restrictedByDefault: false, roles: [{ role: 'readers', privileges: [] }] };
      const config = { oauth: { accessTokenTtlSeconds: 86_400 } };
      app = await startTestApp({ dialect, clock, tools, roles, config });
      const client = await registerClient(app);
      ({ accessToken: token } = await obtainTokens(createPerson(app), client, { name: 'rita' }));
    });
    after(() => app[Symbol.asyncDispose]());

    interface Link {
      uri: string;
      mimeType: string;
      text?: string;
    }
    const call = async (name: string): Promise<Link[]> => {
      const { body } = await callTool(app, token, { name });
      return (body['result'] as { content: Link[] }).content;
    };

    for (const [name, type] of [
      ['buffer', 'application/octet-stream'],
      ['view', 'application/octet-stream'],
      ['blob', 'text/html'],
      ['odd', 'application/octet-stream'],
    ] as const) {
      it(`are told by their address: a ${name}`, async () => {
        const [link, said] = await call(name);
        assert.ok(link !== undefined && said?.text !== undefined);
        assert.ok(said.text.includes(link.uri));
        assert.ok(link.uri.startsWith(`${app.origin}/mcp/binary/`));
        assert.ok(!said.text.includes('secret'));
        const response = await fetch(link.uri);
        assert.equal(response.status, 200);
        assert.equal(response.headers.get('content-type'), type);
        assert.equal(response.headers.get('content-disposition'), 'attachment');
        assert.match(response.headers.get('content-security-policy') ?? '', /sandbox/);
        assert.equal(response.headers.get('cache-control'), 'no-store');
        assert.deepEqual(Buffer.from(await response.arrayBuffer()), BYTES);
        const head = await fetch(link.uri, { method: 'HEAD' });
        assert.deepEqual(
          [head.status, head.headers.get('content-length')],
          [200, String(BYTES.length)],
        );
        assert.equal((await fetch(link.uri, { method: 'POST' })).status, 405);
      });
    }

    it('are nowhere in the store as they are, nor is their address', async () => {
      const [link] = await call('buffer');
      const rows = await app.store.db.selectFrom('binaries').selectAll().execute();
      assert.ok(rows.length > 0);
      for (const row of rows) {
        assert.equal(Buffer.from(row.sealed).includes('secret bytes'), false);
        assert.ok(!link?.uri.includes(row.digest));
      }
    });

    it('have one address, and no other', async () => {
      const [link] = await call('buffer');
      const uri = link?.uri ?? '';
      for (const other of [
        `${uri}x`,
        `${uri}/`,
        uri.slice(0, -1),
        uri.replace(/.$/, '_'),
        `${uri}?a`,
      ])
        if (other !== uri) assert.equal((await fetch(other)).status, 404, other);
      for (const path of ['', 'x', '../mcp', '%00', 'a'.repeat(5_000)])
        assert.notEqual((await fetch(`${app.origin}/mcp/binary/${path}`)).status, 200, path);
    });

    it('are refused when they are too many, or within something else', async () => {
      assert.match((await call('large'))[0]?.text ?? '', /larger than 16 MiB/);
      assert.match((await call('nested'))[0]?.text ?? '', /binary data within other data/);
    });

    it('are gone after ten minutes, and the oldest of many before', async () => {
      const [first] = await call('buffer');
      clock.advance(1_000);
      for (let count = 0; count < 20; count += 1) await call('buffer');
      assert.equal((await fetch(first?.uri ?? '')).status, 404);
      const [last] = await call('buffer');
      clock.advance(10 * MINUTE - 1_000);
      assert.equal((await fetch(last?.uri ?? '')).status, 200);
      clock.advance(1_000);
      assert.equal((await fetch(last?.uri ?? '')).status, 404);
    });

    it('are gone with the grant, at the very next request', async () => {
      const [link] = await call('buffer');
      assert.equal((await fetch(link?.uri ?? '')).status, 200);
      await app.store.transaction((work) =>
        revokeGrants(work, { actor: 'cli', reason: 'administrator', where: {} }),
      );
      assert.equal((await fetch(link?.uri ?? '')).status, 404);
    });
  });
}
