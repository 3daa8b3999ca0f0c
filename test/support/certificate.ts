import { generateKeyPairSync, sign } from 'node:crypto';

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

/** @param names DNS names that the certificate is good for. */
export function makeCertificate(names: readonly string[]): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, der(OID, ECDSA_SHA256));
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, der(OID, COMMON_NAME), der(UTF8, Buffer.from('test')))),
  );
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, [2])),
    der(INTEGER, [1]),
    algorithm,
    name,
    der(
      SEQUENCE,
      der(UTC_TIME, Buffer.from('200101000000Z')),
      der(UTC_TIME, Buffer.from('400101000000Z')),
    ),
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
  const list = der(SEQUENCE, ...names.map((one) => der(0x82, Buffer.from(one))));
  return der(SEQUENCE, der(OID, SUBJECT_ALT_NAME), der(OCTET_STRING, list));
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
