import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { chmod, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import {
  certificateWarning,
  parseCertificate,
  readPem,
  type CertificateFiles,
  type CertificatePem,
} from '#src/http/certificate.ts';
import { makeCertificate, writeCertificate } from '../support/certificate.ts';
import { temporaryFolder } from '../support/temp.ts';

const DAY = 86_400_000;
const FILES: CertificateFiles = { certFile: '/tls/cert.pem', keyFile: '/tls/key.pem' };
const OWN = makeCertificate(['mcp.example.com', '10.0.0.7'], { name: 'mcp.example.com' });
const AUTHORITY = makeCertificate([], { name: 'An authority' });
const GOOD: CertificatePem = { cert: OWN.certificate, key: OWN.key };

function encrypted(type: 'pkcs8' | 'sec1'): string {
  const options = { format: 'pem', cipher: 'aes-256-cbc', passphrase: 'a passphrase' } as const;
  return createPrivateKey(OWN.key).export({ type, ...options }) as string;
}

function rsaKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

describe('a certificate', () => {
  it('says who it is for, which it is and when it counts', () => {
    const notBefore = Date.UTC(2026, 1, 3, 4, 5, 6);
    const notAfter = Date.UTC(2027, 1, 3, 4, 5, 6);
    const { certificate: cert, key } = makeCertificate(['a.example'], { notBefore, notAfter });
    assert.deepEqual(parseCertificate({ cert, key }, FILES), {
      cert,
      key,
      subject: 'CN=test',
      fingerprint256: new X509Certificate(cert).fingerprint256,
      notBefore,
      notAfter,
    });
  });

  it('without a subject is named by what it is good for', () => {
    const { certificate: cert, key } = makeCertificate(['a.example', '10.0.0.7'], { name: '' });
    const { subject } = parseCertificate({ cert, key }, FILES);
    assert.equal(subject, 'DNS:a.example, IP Address:10.0.0.7');
  });

  const accepted: [what: string, pem: CertificatePem][] = [
    ['followed by its chain', { ...GOOD, cert: OWN.certificate + AUTHORITY.certificate }],
    ['with words around it', { ...GOOD, cert: `Bag Attributes\n${OWN.certificate}\nThe end\n` }],
    ['in one file with its key', { cert: OWN.key + OWN.certificate, key: OWN.key }],
    ['with a key in the older form', { ...GOOD, key: sec1(OWN.key) }],
  ];
  for (const [what, pem] of accepted) {
    it(`can be served ${what}`, () => {
      assert.equal(parseCertificate(pem, FILES).subject, 'CN=mcp.example.com');
    });
  }

  const half = OWN.certificate.slice(0, OWN.certificate.length / 2);
  const refused: [what: string, pem: CertificatePem, problem: RegExp][] = [
    ['that is empty', { ...GOOD, cert: '' }, /certFile: \/tls\/cert\.pem holds no certificate/],
    ['that is a key', { ...GOOD, cert: OWN.key }, /certFile: .* holds no certificate/],
    ['that is half written', { ...GOOD, cert: half }, /certFile: .* holds no certificate/],
    [
      'whose chain is half written',
      { ...GOOD, cert: OWN.certificate + AUTHORITY.certificate.slice(0, 200) },
      /certFile: .* cannot be served/,
    ],
    ['with no key', { ...GOOD, key: '' }, /keyFile: \/tls\/key\.pem holds no private key/],
    ['with half a key', { ...GOOD, key: OWN.key.slice(0, 80) }, /keyFile: .* no private key/],
    ['as its key', { ...GOOD, key: OWN.certificate }, /keyFile: .* no private key/],
    [
      "with another's key",
      { ...GOOD, key: AUTHORITY.key },
      /keyFile: \/tls\/key\.pem does not belong to the first certificate in \/tls\/cert\.pem/,
    ],
    ['with a key of another kind', { ...GOOD, key: rsaKey() }, /keyFile: .* does not belong/],
    [
      'behind its chain',
      { ...GOOD, cert: AUTHORITY.certificate + OWN.certificate },
      /keyFile: .* does not belong/,
    ],
    ['with an encrypted key', { ...GOOD, key: encrypted('pkcs8') }, /keyFile: .* is encrypted/],
    ['with one in the older form', { ...GOOD, key: encrypted('sec1') }, /keyFile: .* is encrypted/],
  ];
  for (const [what, pem, problem] of refused) {
    it(`is refused ${what}`, () => {
      assert.throws(
        () => parseCertificate(pem, FILES),
        (error: Error & { code?: string; hint?: string }) => {
          assert.equal(error.code, 'config_invalid');
          assert.match(error.message, /^listen\.tls\./);
          assert.match(error.message, problem);
          assert.ok(error.hint);
          const lines = OWN.key.split('\n').filter((line) => /^\w/.test(line));
          assert.ok(!lines.some((line) => error.message.includes(line)), 'shows no key');
          return true;
        },
      );
    });
  }

  it('with an encrypted key says how to go on', () => {
    assert.throws(() => parseCertificate({ ...GOOD, key: encrypted('pkcs8') }, FILES), {
      hint: /openssl pkey -in \/tls\/key\.pem/,
    });
  });
});

function sec1(key: string): string {
  return createPrivateKey(key).export({ type: 'sec1', format: 'pem' }) as string;
}

describe('the time of a certificate', () => {
  const now = Date.UTC(2026, 10, 30, 12);
  const cases: [what: string, left: number, warning: ReturnType<typeof certificateWarning>][] = [
    ['has 14 days', 14 * DAY, undefined],
    ['has less than 14', 14 * DAY - 1_000, { reason: 'it ends in 13 days', isValid: true }],
    ['has a day', DAY, { reason: 'it ends in 1 day', isValid: true }],
    ['has a second', 1_000, { reason: 'it ends in less than a day', isValid: true }],
    ['is in its last moment', 0, { reason: 'it ends in less than a day', isValid: true }],
    ['is over', -1_000, { reason: 'it has expired', isValid: false }],
  ];
  for (const [what, left, warning] of cases) {
    it(`${what}: ${warning?.reason ?? 'no warning'}`, () => {
      const pem = makeCertificate([], { notAfter: now + left });
      const certificate = parseCertificate({ cert: pem.certificate, key: pem.key }, FILES);
      assert.deepEqual(certificateWarning(certificate, now), warning);
    });
  }

  it('may not have come', () => {
    const pem = makeCertificate([], { notBefore: now + 1_000 });
    const certificate = parseCertificate({ cert: pem.certificate, key: pem.key }, FILES);
    const warning = { reason: 'it is not valid yet', isValid: false };
    assert.deepEqual(certificateWarning(certificate, now), warning);
    assert.equal(certificateWarning(certificate, now + 1_000), undefined);
  });
});

describe('the files of a certificate', () => {
  const modes: [mode: number, allowed: boolean][] = [
    [0o600, true],
    [0o400, true],
    [0o640, false],
    [0o604, false],
    [0o601, false],
    [0o620, false],
  ];
  for (const [mode, allowed] of modes) {
    it(`are ${allowed ? 'read' : 'refused'} when the key has mode ${mode.toString(8)}`, async () => {
      await using folder = await temporaryFolder();
      const files = await writeCertificate(folder.path, OWN);
      await chmod(files.keyFile, mode);
      if (allowed) {
        assert.deepEqual(await readPem(files), GOOD);
        return;
      }
      await assert.rejects(readPem(files), {
        code: 'keys_unsafe',
        message: `Others on this machine can read the keys ${files.keyFile}`,
        hint: `chmod 600 ${files.keyFile}`,
      });
    });
  }

  it('may be read by anybody, as far as the certificate goes', async () => {
    await using folder = await temporaryFolder();
    const files = await writeCertificate(folder.path, OWN);
    await chmod(files.certFile, 0o666);
    assert.deepEqual(await readPem(files), GOOD);
  });

  for (const field of ['certFile', 'keyFile'] as const) {
    it(`are refused by name when ${field} is missing, a folder or huge`, async () => {
      await using folder = await temporaryFolder();
      const files = await writeCertificate(folder.path, OWN);
      const refuse = (why: RegExp): Promise<void> =>
        assert.rejects(readPem(files), (error: Error & { code?: string; hint?: string }) => {
          assert.equal(error.code, 'config_invalid');
          assert.ok(error.message.startsWith(`listen.tls.${field}: ${files[field]} `));
          assert.match(error.message, why);
          assert.ok(error.hint);
          return true;
        });
      await truncate(files[field], 1024 * 1024 + 1);
      await refuse(/is no file of at most 1048576 bytes$/);
      await rm(files[field]);
      await refuse(/cannot be read \(ENOENT/);
      await mkdir(files[field], { mode: 0o700 });
      await refuse(/is no file of at most/);
      await rm(files[field], { recursive: true });
      await writeFile(files[field], 'x', { mode: 0o600 });
      await readPem(files);
    });
  }
});
