/** A picture that an assistant sent. */
export interface Picture {
  data: Buffer;
  mimeType: PictureType;
}

type PictureType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** What the first bytes of each kind of file are; `undefined` stands for any byte. */
const SIGNATURES: readonly [type: PictureType, bytes: readonly (number | undefined)[]][] = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [...ascii('GIF87a')]],
  ['image/gif', [...ascii('GIF89a')]],
  ['image/webp', [...ascii('RIFF'), undefined, undefined, undefined, undefined, ...ascii('WEBP')]],
];

/** Which kind of picture this is, by its own bytes and nobody's word; undefined when it is none. */
export function pictureType(data: Buffer): PictureType | undefined {
  const found = SIGNATURES.find(([, bytes]) =>
    bytes.every((byte, index) => index < data.length && (byte ?? data[index]) === data[index]),
  );
  return found?.[0];
}

function ascii(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
