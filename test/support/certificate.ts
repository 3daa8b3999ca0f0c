import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { CertificateFiles } from '#src/http/certificate.ts';

/*
 * A self-signed certificate, made when it is needed: nothing that looks like a key is checked in. Only
 * as much of X.509 (RFC 5280) as a test's TLS server needs, written out in DER.
 */

export interface Certificate {
  /** PEM; also the authority that clients have to believe. */
  certificate: string;
  /** PEM. */
  key: string;
}

export interface CertificateWishes {
  /** Milliseconds since the epoch, in the years 2000 to 2049; 2020 to 2040 unless told. */
  notBefore?: number;
  notAfter?: number;
  /** The common name, `test` unless told; empty for a subject without any. */
  name?: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OID = 0x06;
const UTF8 = 0x0c;
const UTC_TIME = 0x17;
const BOOLEAN = 0x01;

const COMMON_NAME = [0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME = [0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13];
/** 1.2.840.10045.4.3.2 */
const ECDSA_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];

/** Writes both into a folder, or over what is there; the key for its owner alone. */
export async function writeCertificate(
  folder: string,
  { certificate, key }: Certificate,
): Promise<CertificateFiles> {
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  await writeFile(files.certFile, certificate);
  await writeFile(files.keyFile, key, { mode: 0o600 });
  return files;
}

/** @param names DNS names and IPv4 addresses that the certificate is good for. */
export function makeCertificate(
  names: readonly string[],
  wishes: CertificateWishes = {},
): Certificate {
  const { notBefore = Date.UTC(2020), notAfter = Date.UTC(2040), name: common = 'test' } = wishes;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, der(OID, ECDSA_SHA256));
  const named = der(SEQUENCE, der(OID, COMMON_NAME), der(UTF8, Buffer.from(common)));
  const name = common === '' ? der(SEQUENCE) : der(SEQUENCE, der(SET, named));
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, [2])),
    // Two with one name and one number would be one certificate to OpenSSL.
    der(INTEGER, [1, ...randomBytes(8)]),
    algorithm,
    name,
    der(SEQUENCE, utcTime(notBefore), utcTime(notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, altNames(names), authority())),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = der(SEQUENCE, body, algorithm, der(BIT_STRING, [0], signature));
  return {
    certificate: pem(certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function altNames(names: readonly string[]): Buffer {
  const list = der(
    SEQUENCE,
    ...names.map((one) =>
      isIPv4(one) ? der(0x87, one.split('.').map(Number)) : der(0x82, Buffer.from(one)),
    ),
  );
  return der(SEQUENCE, der(OID, SUBJECT_ALT_NAME), der(OCTET_STRING, list));
}

/** `YYMMDDhhmmssZ`. */
function utcTime(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}

/** It signs itself, so it is its own authority. */
function authority(): Buffer {
  const constraints = der(SEQUENCE, der(BOOLEAN, [0xff]));
  return der(
    SEQUENCE,
    der(OID, BASIC_CONSTRAINTS),
    der(BOOLEAN, [0xff]),
    der(OCTET_STRING, constraints),
  );
}

/** One DER value: its tag, its length, what it holds. */
function der(tag: number, ...parts: (Buffer | number[])[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
