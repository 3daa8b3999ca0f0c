/** What projects import. Nothing else of this package is a promise. */
export { defineConfig } from './config.ts';
export type {
  ConfigInput,
  LoginAttempt,
  LoginHook,
  LoginSubject,
  OpeningSession,
  SessionHook,
} from './config.ts';
export { content, tool, toolError } from '#src/tools/define.ts';
export { entityTool } from '#src/tools/entity.ts';
export { choice } from '#src/tools/form.ts';
export { t } from '#src/tools/fields.ts';
export type {
  ContentBlock,
  Tool,
  ToolAnnotations,
  ToolContext,
  ToolDefinition,
} from '#src/tools/define.ts';
export type { EntityFunction, EntityTool } from '#src/tools/entity.ts';
export type { Picture } from '#src/tools/picture.ts';
