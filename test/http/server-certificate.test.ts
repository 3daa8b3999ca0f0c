import assert from 'node:assert/strict';
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Event } from '#src/events.ts';
import type { CertificateFiles, CertificatePem } from '#src/http/certificate.ts';
import { ServerCertificate } from '#src/http/server-certificate.ts';
import { makeCertificate, writeCertificate, type Certificate } from '../support/certificate.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/temp.ts';

const DAY = 86_400_000;
const OLD = makeCertificate(['a.example'], { name: 'old' });
const NEW = makeCertificate(['a.example'], { name: 'new' });

interface Opened extends AsyncDisposable {
  folder: string;
  files: CertificateFiles;
  clock: TestClock;
  served: ServerCertificate;
  /** What was told since this was asked last. */
  told(): Event[];
  /** What took the place of another. */
  changes: CertificatePem[];
  /** Two looks: the first sees something new, the second that it stays. */
  settle(): Promise<void>;
}

async function open(first: Certificate = OLD): Promise<Opened> {
  const folder = await temporaryFolder();
  return openFrom(folder, await writeCertificate(folder.path, first));
}

async function openFrom(
  folder: Awaited<ReturnType<typeof temporaryFolder>>,
  files: CertificateFiles,
): Promise<Opened> {
  const clock = createTestClock();
  const events: Event[] = [];
  const emit = (event: Event): void => void events.push(event);
  const served = await ServerCertificate.open({ files, clock, emit });
  const changes: CertificatePem[] = [];
  served.onChange((pem) => changes.push(pem));
  return {
    folder: folder.path,
    files,
    clock,
    served,
    changes,
    told: () => events.splice(0),
    async settle() {
      await served.look();
      await served.look();
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

function pemOf({ certificate, key }: Certificate): CertificatePem {
  return { cert: certificate, key };
}

function typesOf(events: readonly Event[]): string[] {
  return events.map((event) => event.type);
}

/** Reasons that were told since last time; nothing else may have been. */
function rejections(opened: Opened): string[] {
  return opened.told().map((event) => {
    assert.equal(event.type, 'certificate.rejected');
    return event.reason;
  });
}

describe('the certificate in use', () => {
  it('is told when it is first read, without anything secret', async () => {
    await using opened = await open();
    const [event, ...more] = opened.told();
    assert.deepEqual(more, []);
    assert.ok(event?.type === 'certificate.loaded');
    assert.deepEqual(Object.keys(event).toSorted(), [
      'fingerprint256',
      'notAfter',
      'subject',
      'type',
    ]);
    assert.equal(event.subject, 'CN=old');
    assert.match(event.fingerprint256, /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);
    assert.equal(event.notAfter, '2040-01-01T00:00:00.000Z');
    assert.deepEqual(opened.served.pem, pemOf(OLD));
  });

  it('stays while its files do', async () => {
    await using opened = await open();
    opened.told();
    await writeCertificate(opened.folder, OLD);
    await opened.settle();
    assert.deepEqual([opened.told(), opened.changes], [[], []]);
  });

  const replacements: [how: string, replace: (opened: Opened) => Promise<void>][] = [
    ['rewritten in place', async ({ folder }) => void (await writeCertificate(folder, NEW))],
    [
      'replaced by a rename',
      async ({ folder, files }) => {
        await mkdir(join(folder, 'next'));
        const next = await writeCertificate(join(folder, 'next'), NEW);
        await rename(next.certFile, files.certFile);
        await rename(next.keyFile, files.keyFile);
      },
    ],
  ];
  for (const [how, replace] of replacements) {
    it(`gives way to files that were ${how}`, async () => {
      await using opened = await open();
      opened.told();
      await replace(opened);
      await opened.settle();
      const [event, ...more] = opened.told();
      assert.ok(event?.type === 'certificate.loaded' && event.subject === 'CN=new');
      assert.deepEqual(more, []);
      assert.deepEqual(opened.changes, [pemOf(NEW)]);
      assert.deepEqual(opened.served.pem, pemOf(NEW));
      await opened.settle();
      assert.deepEqual([opened.told(), opened.changes.length], [[], 1]);
    });
  }

  it('gives way when a link to its folder leads elsewhere, as Kubernetes does it', async () => {
    const folder = await temporaryFolder();
    const at = (name: string): string => join(folder.path, name);
    for (const [name, certificate] of Object.entries({ '..1': OLD, '..2': NEW })) {
      await mkdir(at(name));
      await writeCertificate(at(name), certificate);
    }
    await symlink('..1', at('..data'));
    await symlink('..data/cert.pem', at('cert.pem'));
    await symlink('..data/key.pem', at('key.pem'));
    const files = { certFile: at('cert.pem'), keyFile: at('key.pem') };
    await using opened = await openFrom(folder, files);
    await symlink('..2', at('..next'));
    await rename(at('..next'), at('..data'));
    await opened.settle();
    assert.deepEqual(opened.changes, [pemOf(NEW)]);
  });

  it('gives way when each file is a link that leads elsewhere, as certbot does it', async () => {
    const folder = await temporaryFolder();
    const at = (...names: string[]): string => join(folder.path, ...names);
    for (const [name, certificate] of Object.entries({ old: OLD, new: NEW })) {
      await mkdir(at(name));
      await writeCertificate(at(name), certificate);
    }
    await symlink('old/cert.pem', at('cert.pem'));
    await symlink('old/key.pem', at('key.pem'));
    const files = { certFile: at('cert.pem'), keyFile: at('key.pem') };
    await using opened = await openFrom(folder, files);
    opened.told();
    await rm(files.certFile);
    await opened.served.look();
    await symlink('new/cert.pem', files.certFile);
    await opened.served.look();
    await rm(files.keyFile);
    await symlink('new/key.pem', files.keyFile);
    await opened.settle();
    assert.deepEqual(typesOf(opened.told()), ['certificate.loaded'], 'the way there is not told');
    assert.deepEqual(opened.changes, [pemOf(NEW)]);
  });

  it('waits until two looks have found the same, because a chain may look whole', async () => {
    await using opened = await open();
    opened.told();
    await writeCertificate(opened.folder, NEW);
    await opened.served.look();
    assert.deepEqual([opened.told(), opened.changes], [[], []]);
    const chain = NEW.certificate + OLD.certificate;
    await writeFile(opened.files.certFile, chain);
    await opened.served.look();
    assert.deepEqual([opened.told(), opened.changes], [[], []]);
    await opened.served.look();
    assert.deepEqual(opened.changes, [{ cert: chain, key: NEW.key }]);
  });

  const cannotBeUsed: [what: string, spoil: (opened: Opened) => Promise<void>, why: RegExp][] = [
    [
      "another certificate's key",
      ({ files }) => writeFile(files.certFile, NEW.certificate),
      /keyFile: .* does not belong/,
    ],
    [
      'half a certificate',
      ({ files }) => writeFile(files.certFile, NEW.certificate.slice(0, 300)),
      /certFile: .* holds no certificate/,
    ],
    ['an empty key', ({ files }) => writeFile(files.keyFile, ''), /keyFile: .* no private key/],
    ['no certificate', ({ files }) => rm(files.certFile), /certFile: .* cannot be read/],
    ['no key', ({ files }) => rm(files.keyFile), /keyFile: .* cannot be read/],
    ['a key open to others', ({ files }) => chmod(files.keyFile, 0o644), /^Others on this machine/],
    [
      'an expired certificate',
      async ({ folder }) =>
        void (await writeCertificate(folder, makeCertificate([], { notAfter: Date.now() - DAY }))),
      /certFile: it has expired/,
    ],
  ];
  for (const [what, spoil, why] of cannotBeUsed) {
    it(`stays in use beside ${what}, which is told once, and gives way to what is good`, async () => {
      await using opened = await open();
      opened.told();
      await spoil(opened);
      await opened.settle();
      await opened.settle();
      const [reason = '', ...more] = rejections(opened);
      assert.match(reason, why);
      assert.deepEqual(more, []);
      assert.deepEqual([opened.served.pem, opened.changes], [pemOf(OLD), []]);

      await rm(opened.files.keyFile, { force: true });
      await writeCertificate(opened.folder, NEW);
      await opened.settle();
      assert.deepEqual(typesOf(opened.told()), ['certificate.loaded']);
      assert.deepEqual(opened.changes, [pemOf(NEW)]);
    });
  }

  it('is told again when its files are spoilt again', async () => {
    await using opened = await open();
    opened.told();
    for (let time = 0; time < 2; time += 1) {
      await rm(opened.files.certFile);
      await opened.settle();
      assert.equal(rejections(opened).length, 1);
      await writeCertificate(opened.folder, OLD);
      await opened.settle();
      assert.deepEqual([opened.told(), opened.changes], [[], []]);
    }
  });

  it('gives way to one whose time had not come, when it has', async () => {
    await using opened = await open();
    opened.told();
    const later = makeCertificate([], { notBefore: Date.now() + DAY });
    await writeCertificate(opened.folder, later);
    await opened.settle();
    assert.deepEqual(rejections(opened), ['listen.tls.certFile: it is not valid yet']);
    opened.clock.advance(DAY + 1_000);
    await opened.served.look();
    assert.deepEqual(opened.changes, [pemOf(later)]);
  });

  it('stays when the server cannot take the next one', async () => {
    await using opened = await open();
    opened.served.onChange(() => {
      throw new Error('not this one');
    });
    opened.told();
    await writeCertificate(opened.folder, NEW);
    await opened.settle();
    assert.deepEqual(rejections(opened), ['not this one']);
    assert.deepEqual(opened.served.pem, pemOf(OLD));
  });
});

describe('the end of a certificate', () => {
  const warningsOf = (opened: Opened): string[] =>
    opened
      .told()
      .flatMap((event) =>
        event.type === 'certificate.warning' ? [`${event.reason} ${event.isValid}`] : [],
      );

  it('is warned of from 14 days before, once a day, and at once when it has come', async () => {
    await using opened = await open(makeCertificate([], { notAfter: Date.now() + 15 * DAY }));
    assert.deepEqual(warningsOf(opened), []);
    opened.clock.advance(1.5 * DAY);
    await opened.served.look();
    assert.deepEqual(warningsOf(opened), ['it ends in 13 days true']);
    opened.clock.advance(DAY - 60_000);
    await opened.settle();
    assert.deepEqual(warningsOf(opened), []);
    opened.clock.advance(60_000);
    await opened.settle();
    assert.deepEqual(warningsOf(opened), ['it ends in 12 days true']);
    opened.clock.advance(12.25 * DAY);
    await opened.served.look();
    assert.deepEqual(warningsOf(opened), ['it ends in less than a day true']);
    opened.clock.advance(0.5 * DAY);
    await opened.settle();
    assert.deepEqual(warningsOf(opened), ['it has expired false']);
  });

  it('is warned of at the start, also when it has come: the server starts all the same', async () => {
    for (const [days, warning] of [
      [3.5, 'it ends in 3 days true'],
      [-1, 'it has expired false'],
    ] as const) {
      await using opened = await open(makeCertificate([], { notAfter: Date.now() + days * DAY }));
      assert.deepEqual(warningsOf(opened), [warning]);
    }
  });

  it('is warned of at once in a new one, and no more in one that lasts', async () => {
    const soon = makeCertificate([], { notAfter: Date.now() + 1.5 * DAY });
    await using opened = await open(makeCertificate([], { notAfter: Date.now() + 3.5 * DAY }));
    assert.deepEqual(warningsOf(opened), ['it ends in 3 days true']);
    await writeCertificate(opened.folder, soon);
    await opened.settle();
    assert.deepEqual(warningsOf(opened), ['it ends in 1 day true']);
    await writeCertificate(opened.folder, NEW);
    await opened.settle();
    opened.clock.advance(10 * DAY);
    await opened.settle();
    assert.deepEqual(warningsOf(opened), []);
  });
});
