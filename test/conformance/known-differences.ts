/*
 * Checks of the conformance suite that do not pass, each with the reason. The test fails when one of
 * them passes, so that the list never says more than is true.
 */

const NO_RESOURCES =
  'Castellan serves tools: it offers no resources, and says so in its capabilities.';
const NO_PROMPTS = 'Castellan serves tools: it offers no prompts, and says so in its capabilities.';
const NO_COMPLETION =
  'Castellan serves tools: there are no prompts or resources whose arguments could be completed.';
const NO_LOGGING =
  'What a tool logs is for whoever runs the server: no client is sent it, and no capability says so.';
const NO_SAMPLING = 'Castellan never asks a client to sample or for its roots.';
const UNASKED =
  'An answer without the signed state of its question is ignored, and the question is asked: a client must not be able to answer what nobody was shown.';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;

export type Revision = (typeof REVISIONS)[number];

/** The checks of a revision that fail, each with its reason. */
export function knownDifferences(revision: Revision): Readonly<Record<string, string>> {
  return revision === '2026-07-28' ? MODERN : SESSIONS;
}

const SESSIONS: Readonly<Record<string, string>> = {
  'completion-complete': NO_COMPLETION,
  'logging-set-level': NO_LOGGING,
  'tools-call-with-logging': NO_LOGGING,
  'tools-call-sampling': NO_SAMPLING,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'resources-subscribe': NO_RESOURCES,
  'resources-unsubscribe': NO_RESOURCES,
};

const MODERN: Readonly<Record<string, string>> = {
  'completion-complete': NO_COMPLETION,
  'resources-list': NO_RESOURCES,
  'resources-read-text': NO_RESOURCES,
  'resources-read-binary': NO_RESOURCES,
  'resources-templates-read': NO_RESOURCES,
  'sep-2164-error-code': NO_RESOURCES,
  'sep-2164-data-uri': NO_RESOURCES,
  'sep-2549-resources-list-caching-hints': NO_RESOURCES,
  'sep-2549-resources-templates-list-caching-hints': NO_RESOURCES,
  'prompts-list': NO_PROMPTS,
  'prompts-get-simple': NO_PROMPTS,
  'prompts-get-with-args': NO_PROMPTS,
  'prompts-get-embedded-resource': NO_PROMPTS,
  'prompts-get-with-image': NO_PROMPTS,
  'sep-2549-prompts-list-caching-hints': NO_PROMPTS,
  'sep-2322-non-tool-incomplete': NO_PROMPTS,
  'sep-2575-server-rejects-undeclared-capability': NO_SAMPLING,
  'sep-2575-missing-capability-http-400': NO_SAMPLING,
  'sep-2322-sampling-incomplete': NO_SAMPLING,
  'sep-2322-list-roots-incomplete': NO_SAMPLING,
  'sep-2322-respect-client-capabilities': NO_SAMPLING,
  'sep-2322-ignore-unexpected-params': UNASKED,
  'sep-2322-multiple-inputs-incomplete': NO_SAMPLING,
};

/** Scenarios that the suite runs and does not score: extensions, and what is pending. */
export function isScored(scenario: string): boolean {
  return !/^(tasks-|json-schema-2020-12$)/.test(scenario);
}
