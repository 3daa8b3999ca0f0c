/*
 * The revisions of MCP that have sessions, the newest first, and what differs between them as far as a
 * server of tools is concerned.
 */

const SESSION_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

type SessionVersion = (typeof SESSION_VERSIONS)[number];

/** What `initialize` agrees on: the version that was asked for, or the newest one here. */
export function negotiate(requested: unknown): SessionVersion {
  return SESSION_VERSIONS.find((version) => version === requested) ?? SESSION_VERSIONS[0];
}

export function isSessionVersion(version: string): boolean {
  return SESSION_VERSIONS.some((known) => known === version);
}

/** Only one revision has JSON-RPC batches. */
export function hasBatches(version: string): boolean {
  return version === '2025-03-26';
}

/** Elicitation came with 2025-06-18. Versions are dates: they sort. */
export function hasElicitation(version: string): boolean {
  return version >= '2025-06-18';
}

/** Modes of elicitation, forms and links, came with 2025-11-25; before there were forms only. */
export function hasElicitationModes(version: string): boolean {
  return version >= '2025-11-25';
}
