import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { DAY } from '#src/clock.ts';
import { refuseOpenKeys } from '#src/credentials/key-file.ts';
import { AppError, messageOf } from '#src/errors.ts';

/*
 * The certificate of `listen.tls` and its key, as they are on disk, and whether they can be used.
 * When they are read again is `server-certificate.ts`.
 */

/** Absolute paths. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** What the two files hold. */
export interface CertificatePem {
  cert: string;
  key: string;
}

/** A certificate that TLS can be served with, whether or not its time has come or has passed. */
export interface Certificate extends CertificatePem {
  /** Who it is for, in one line. */
  subject: string;
  /** SHA-256, as tools print it. */
  fingerprint256: string;
  /** Milliseconds since the epoch. */
  notBefore: number;
  /** Milliseconds since the epoch. */
  notAfter: number;
}

/** A chain takes some 10 KB. */
const MAX_BYTES = 1024 * 1024;
const ENDING_MS = 14 * DAY;
/** PKCS#8 and the older form of OpenSSL. */
const ENCRYPTED = /^(-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED)/m;

/**
 * Reads both files.
 * @throws `config_invalid` when one cannot be read, `keys_unsafe` when others have a right to the key.
 */
export async function readPem(files: CertificateFiles): Promise<CertificatePem> {
  const cert = await readSmallFile('certFile', files);
  return { cert, key: await readSmallFile('keyFile', files) };
}

/**
 * Checks that TLS can be served with the two.
 * @throws `config_invalid` when one is no PEM, is cut off or too weak, when the key is encrypted or
 * belongs to another certificate. It shows nothing of the key.
 */
export function parseCertificate(pem: CertificatePem, files: CertificateFiles): Certificate {
  const leaf = attempt(
    () => new X509Certificate(pem.cert),
    (why, cause) =>
      wrong('certFile', files, { why: `holds no certificate in PEM (${why})`, cause }),
  );
  if (!leaf.checkPrivateKey(parseKey(pem.key, files))) {
    throw wrong('keyFile', files, {
      why: `does not belong to the first certificate in ${files.certFile}`,
      hint: 'Name the key that the certificate was made for; in the certificate file, the own certificate stands before those of its authority.',
    });
  }
  attempt(
    () => createSecureContext(pem),
    (why, cause) => wrong('certFile', files, { why: `cannot be served (${why})`, cause }),
  );
  return {
    ...pem,
    subject: subjectOf(leaf),
    fingerprint256: leaf.fingerprint256,
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
  };
}

/** Why clients refuse a certificate at this time (`isValid` is false) or soon will, or undefined. */
export function certificateWarning(
  { notBefore, notAfter }: Certificate,
  now: number,
): { reason: string; isValid: boolean } | undefined {
  if (now < notBefore) return { reason: 'it is not valid yet', isValid: false };
  if (now > notAfter) return { reason: 'it has expired', isValid: false };
  const left = notAfter - now;
  if (left >= ENDING_MS) return undefined;
  const days = Math.floor(left / DAY);
  const time = days === 0 ? 'less than a day' : `${days} ${days === 1 ? 'day' : 'days'}`;
  return { reason: `it ends in ${time}`, isValid: true };
}

function parseKey(text: string, files: CertificateFiles): KeyObject {
  if (ENCRYPTED.test(text)) {
    throw wrong('keyFile', files, {
      why: 'is encrypted, and nobody is asked for its passphrase',
      hint: `Make a file without one, mode 600: openssl pkey -in ${files.keyFile} -out NEW`,
    });
  }
  return attempt(
    () => createPrivateKey(text),
    (why, cause) => wrong('keyFile', files, { why: `holds no private key in PEM (${why})`, cause }),
  );
}

/** The authorities of today leave the subject empty; then the names count. */
function subjectOf(leaf: X509Certificate): string {
  // Node gives no subject when it is empty, which its types do not say.
  const subject: string | undefined = leaf.subject;
  return subject?.replaceAll('\n', ', ') || (leaf.subjectAltName ?? 'nobody');
}

async function readSmallFile(
  field: keyof CertificateFiles,
  files: CertificateFiles,
): Promise<string> {
  const path = files[field];
  try {
    const info = await stat(path);
    if (field === 'keyFile') refuseOpenKeys(path, info.mode);
    if (info.isFile() && info.size <= MAX_BYTES) return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const hint = 'Correct the path, or let the user that runs the server read the file.';
    throw wrong(field, files, { why: `cannot be read (${messageOf(cause)})`, cause, hint });
  }
  throw wrong(field, files, { why: `is no file of at most ${MAX_BYTES} bytes` });
}

/** Runs what throws OpenSSL's words and tells them in ours. */
function attempt<T>(action: () => T, problem: (why: string, cause: unknown) => AppError): T {
  try {
    return action();
  } catch (error) {
    throw problem(messageOf(error), error);
  }
}

interface Problem {
  why: string;
  hint?: string;
  cause?: unknown;
}

function wrong(
  field: keyof CertificateFiles,
  files: CertificateFiles,
  { why, hint, cause }: Problem,
): AppError {
  return new AppError('config_invalid', `listen.tls.${field}: ${files[field]} ${why}`, {
    cause,
    hint: hint ?? 'Write the file again, in PEM.',
  });
}
