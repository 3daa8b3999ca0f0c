import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createPrivateKey } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import type { ConfigInput } from '#src/config.ts';
import type { CertificateFiles } from '#src/http/certificate.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { makeProject, startCli, type TestProject } from './support.ts';

const OWN = makeCertificate(['127.0.0.1']);
const OTHER = makeCertificate(['127.0.0.1']);

type TlsProject = TestProject & { files: CertificateFiles };

/** A project whose certificate and key are in its folder `tls`. */
async function makeTlsProject(config: ConfigInput = {}): Promise<TlsProject> {
  const listen = { port: 0, tls: { certFile: 'tls/cert.pem', keyFile: 'tls/key.pem' } };
  const project = await makeProject({ config: { listen, ...config } });
  await mkdir(join(project.folder, 'tls'));
  return Object.assign(project, {
    files: await writeCertificate(join(project.folder, 'tls'), OWN),
  });
}

describe('serve with listen.tls', () => {
  it('says https, serves it, and ends with 0 on SIGTERM', async () => {
    await using project = await makeTlsProject();
    const child = startCli(['serve', '--project', project.folder]);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const ended = once(child, 'close');
    try {
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const mcp = /^Castellan serves .* at (https:\/\/127\.0\.0\.1:\d+\/mcp)$/.exec(line)?.[1];
      assert.ok(mcp, line);
      const asked = get(new URL('/healthz', mcp), { ca: OWN.certificate });
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      assert.equal(response.resume().statusCode, 200);
      assert.match(said, /certificate\.loaded/);
    } finally {
      child.kill('SIGTERM');
    }
    assert.equal((await ended)[0], 0, said);
  });

  const encryptedKey = createPrivateKey(OWN.key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'a passphrase',
  });
  const refused: [what: string, spoil: (files: CertificateFiles) => Promise<void>, says: RegExp][] =
    [
      [
        'a certificate that is missing',
        ({ certFile }) => rm(certFile),
        /castellan: listen\.tls\.certFile: \/.*tls\/cert\.pem cannot be read \(ENOENT.*\nhint: Correct the path/,
      ],
      [
        'a key that is missing',
        ({ keyFile }) => rm(keyFile),
        /castellan: listen\.tls\.keyFile: \/.*tls\/key\.pem cannot be read \(ENOENT.*\nhint: Correct the path/,
      ],
      [
        'a key of another certificate',
        ({ keyFile }) => writeFile(keyFile, OTHER.key),
        /castellan: listen\.tls\.keyFile: .* does not belong to the first certificate in \/.*cert\.pem\nhint: Name the key/,
      ],
      [
        'an encrypted key',
        ({ keyFile }) => writeFile(keyFile, encryptedKey),
        /castellan: listen\.tls\.keyFile: .* is encrypted.*\nhint: .*openssl pkey -in/,
      ],
      [
        'a key that others can read',
        ({ keyFile }) => chmod(keyFile, 0o644),
        /castellan: Others on this machine can read the keys \/.*key\.pem\nhint: chmod 600 \//,
      ],
    ];
  for (const [what, spoil, says] of refused) {
    it(`does not start with ${what}, and says why`, async () => {
      await using project = await makeTlsProject();
      await spoil(project.files);
      const { code, stdout, stderr } = await project.cli(['serve']);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, says);
    });
  }

  it('takes no passphrase from the configuration, and no public URL over plain HTTP', async () => {
    const tls = { certFile: 'tls/cert.pem', keyFile: 'tls/key.pem', passphrase: 'x' };
    await using secret = await makeTlsProject({ listen: { tls } });
    const first = await secret.cli(['serve']);
    assert.equal(first.code, 1);
    assert.match(first.stderr, /listen\.tls\.passphrase: unknown field/);
    await using plain = await makeTlsProject({ publicUrl: 'http://mcp.example.com' });
    const second = await plain.cli(['serve']);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /publicUrl: with listen\.tls it is an https URL/);
  });

  it('leaves the other commands alone: they need no certificate', async () => {
    await using project = await makeTlsProject();
    await rm(project.files.keyFile);
    assert.deepEqual(await project.json(['users', 'list']), []);
  });
});
