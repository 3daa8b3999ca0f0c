import { isLoopbackHost } from './caller.ts';
import { describeMoment } from './moment.ts';
import type { Sentence } from './sentence.ts';
import type { Texts } from '#src/http/texts/en.ts';

/*
 * What a person is told about the app that asks. Its name is its own claim, so it is cut and cleaned;
 * what can be checked (the domain of its document, where the answer goes) stands beside it.
 */

export interface ClientDisplay {
  name: string;
  initial: string;
  /** The domain of its metadata document; undefined for an app that registered itself. */
  verified: string | undefined;
  /** How an unverified app came here. */
  origin: Sentence;
  returnTo: string;
  returnNote: string;
  warning: { lead: string; text: Sentence } | undefined;
}

export interface DisplayedClient {
  claimedName: string | undefined;
  /** The host of its metadata document. */
  documentHost: string | undefined;
  /** When it registered itself; undefined when an administrator added it. */
  registeredAt: number | undefined;
  redirectUri: string;
}

const MAX_CLAIM = 1_000;
const MAX_NAME = 60;
/** Control, lone surrogate and private-use characters, and line ends: read as a space. */
const BLANK = /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\s]+/gu;
/**
 * What nobody sees, but which hides or reorders what stands beside it: bidirectional marks, zero
 * width, fillers, the blank braille cell. Only what holds an emoji together may stay.
 */
const UNSEEN =
  /(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\uFE0F])\u200D(?=\p{Extended_Pictographic}))(?!(?<=\p{Extended_Pictographic})\uFE0F)[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const UNPRINTED = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** More marks on one letter than any language writes: they run over the lines above and below. */
const PILED_MARKS = /(\p{M}{3})\p{M}+/gu;
/** Marks with no letter of their own would sit on the character before the name. */
const LEADING_MARKS = /^[\p{M}\s]+/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** A name that somebody else chose, fit for a heading: one line, at most 60 UTF-16 units, no tricks. */
export function displayName(claimed: string | undefined, fallback: string): string {
  const plain = (claimed ?? '')
    .slice(0, MAX_CLAIM)
    .replaceAll(UNSEEN, '')
    .replaceAll(BLANK, ' ')
    .replaceAll(PILED_MARKS, '$1')
    .replace(LEADING_MARKS, '')
    .trim();
  const name = plain.length <= MAX_NAME ? plain : shorten(plain);
  return name === '' ? fallback : name;
}

/** Cuts between whole characters, as people count them. */
function shorten(text: string): string {
  let kept = '';
  for (const { segment } of graphemes.segment(text)) {
    if (kept.length + segment.length >= MAX_NAME) break;
    kept += segment;
  }
  return kept === '' ? '' : `${kept.trimEnd()}…`;
}

/** What somebody else sent, to be quoted as it is: characters that nobody sees are written as their code. */
export function quoteVisibly(text: string): string {
  return text.replaceAll(UNPRINTED, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
  });
}

/** The letter on an app's tile. */
export function initialOf(name: string): string {
  const letter = /[\p{L}\p{N}]/u.exec(name)?.[0] ?? '?';
  const upper = letter.toUpperCase();
  // "ß" becomes two letters, which the tile has no room for.
  return upper.length === letter.length ? upper : letter;
}

/** Everything that login and consent show about an app. */
export function describeClient(client: DisplayedClient, t: Texts, now: number): ClientDisplay {
  const name = displayName(client.claimedName, client.documentHost ?? t.client.unnamed);
  const target = returnTarget(client.redirectUri);
  return {
    name,
    initial: initialOf(name),
    verified: client.documentHost,
    origin:
      client.registeredAt === undefined
        ? t.consent.addedByAdministrator
        : t.consent.registeredItself(describeMoment(Math.min(client.registeredAt, now), now, t)),
    returnTo: target.place,
    ...describeTarget(target, { name, documentHost: client.documentHost, t }),
  };
}

export interface ReturnTarget {
  kind: 'web' | 'loopback' | 'private-use';
  /** Host and port, or scheme and first part. */
  place: string;
}

/** Where a redirect URI leads, in words that fit one line. */
export function returnTarget(redirectUri: string): ReturnTarget {
  const url = URL.parse(redirectUri);
  if (url === null) return { kind: 'private-use', place: '?' };
  if (url.protocol === 'https:' || url.protocol === 'http:') {
    return { kind: isLoopbackHost(url.hostname) ? 'loopback' : 'web', place: url.host };
  }
  return {
    kind: 'private-use',
    place: url.host === '' ? url.protocol : `${url.protocol}//${url.host}`,
  };
}

function describeTarget(
  target: ReturnTarget,
  { name, documentHost, t }: { name: string; documentHost: string | undefined; t: Texts },
): Pick<ClientDisplay, 'returnNote' | 'warning'> {
  switch (target.kind) {
    case 'loopback':
      return {
        returnNote: t.client.loopback,
        warning: { lead: t.client.loopbackWarning.lead, text: t.client.loopbackWarning.text(name) },
      };
    case 'private-use':
      return {
        returnNote: t.client.privateUse,
        warning: {
          lead: t.client.privateUseWarning.lead,
          text: t.client.privateUseWarning.text(name),
        },
      };
    case 'web':
      if (documentHost === undefined) return { returnNote: t.client.website, warning: undefined };
      return {
        returnNote: target.place === documentHost ? t.client.sameDomain : t.client.otherDomain,
        warning: undefined,
      };
  }
}
