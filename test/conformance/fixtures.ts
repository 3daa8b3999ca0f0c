import { z } from 'zod';
import { choice, content, t, tool, toolError, type Tool, type ToolContext } from '#src/index.ts';

/** The tools that the conformance suite asks a server for, as a project would write them. */

/** A red square of one pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A WAV file without samples. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const NOTHING = z.object({});

export const FIXTURE_TOOLS: readonly Tool[] = [
  tool({
    name: 'test_simple_text',
    description: 'Returns a fixed text.',
    input: NOTHING,
    run: () => 'This is a simple text response for testing.',
  }),
  tool({
    name: 'test_image_content',
    description: 'Returns a picture.',
    input: NOTHING,
    run: () => content({ type: 'image', data: PNG, mimeType: 'image/png' }),
  }),
  tool({
    name: 'test_audio_content',
    description: 'Returns a sound.',
    input: NOTHING,
    run: () => content({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  }),
  tool({
    name: 'test_embedded_resource',
    description: 'Returns an embedded resource.',
    input: NOTHING,
    run: () =>
      content({
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      }),
  }),
  tool({
    name: 'test_multiple_content_types',
    description: 'Returns text, a picture and a resource.',
    input: NOTHING,
    run: () =>
      content(
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: JSON.stringify({ test: 'data', value: 123 }),
          },
        },
      ),
  }),
  tool({
    name: 'test_error_handling',
    description: 'Always fails.',
    input: NOTHING,
    run() {
      throw toolError('This tool intentionally returns an error for testing');
    },
  }),
  tool({
    name: 'test_logging_tool',
    description: 'Writes to the log, which no caller sees.',
    input: NOTHING,
    run(_args, context) {
      context.log.info('logged');
      return 'logged';
    },
  }),
  tool({
    name: 'test_tool_with_progress',
    description: 'Reports progress three times.',
    input: NOTHING,
    async run(_args, context) {
      for (const done of [0, 50, 100]) await context.progress(done, 100);
      return 'done';
    },
  }),
  tool({
    name: 'test_streaming_elicitation',
    description: 'Reports progress, then asks.',
    input: NOTHING,
    async run(_args, { progress, confirm }) {
      await progress(1);
      return (await confirm('Go on?')) ? 'went on' : 'stopped';
    },
  }),
  tool({
    name: 'test_elicitation',
    description: 'Asks for a name and an address.',
    input: z.object({ message: z.string() }),
    async run({ message }, { ask }) {
      const fields = {
        username: z.string().describe("User's response"),
        email: z.string().describe("User's email address"),
      };
      return JSON.stringify(await ask(fields, { message }));
    },
  }),
  tool({
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks with defaults.',
    input: NOTHING,
    async run(_args, { ask }) {
      const fields = {
        name: z.string().default('John Doe'),
        age: z.int().default(30),
        score: z.number().default(95.5),
        status: z.enum(['active', 'inactive', 'pending']).default('active'),
        verified: z.boolean().default(true),
      };
      return JSON.stringify(await ask(fields));
    },
  }),
  tool({
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks for choices.',
    input: NOTHING,
    async run(_args, { ask }) {
      const enumNames = ['Option One', 'Option Two', 'Option Three'];
      const titled = { value1: 'First', value2: 'Second', value3: 'Third' };
      const plain = z.enum(['option1', 'option2', 'option3']);
      const fields = {
        untitledSingle: plain,
        titledSingle: choice(titled),
        legacyEnum: z.enum(['opt1', 'opt2', 'opt3']).meta({ enumNames }),
        untitledMulti: z.array(plain),
        titledMulti: z.array(choice(titled)),
      };
      return JSON.stringify(await ask(fields));
    },
  }),
  tool({
    name: 'test_input_required_result_elicitation',
    description: 'Asks for a name.',
    input: NOTHING,
    run: (_args, { ask }) => greet(ask),
  }),
  tool({
    name: 'test_input_required_result_capabilities',
    description: 'Asks for a name, where the client can ask.',
    input: NOTHING,
    run: (_args, { ask }) => greet(ask),
  }),
  tool({
    name: 'test_input_required_result_multi_round',
    description: 'Asks for a name, then for a color.',
    input: NOTHING,
    async run(_args, { ask }) {
      const one = await ask({ name: z.string() }, { message: 'Step 1: What is your name?' });
      const message = 'Step 2: What is your favorite color?';
      const two = await ask({ color: z.string() }, { message });
      return `${one?.name} likes ${two?.color}`;
    },
  }),
  tool({
    name: 'test_input_required_result_request_state',
    description: 'Asks for a tick.',
    input: NOTHING,
    async run(_args, { ask }) {
      const answers = await ask({ ok: z.boolean() }, { message: 'Please confirm' });
      return answers === undefined ? 'refused' : 'state-ok';
    },
  }),
  tool({
    name: 'test_input_required_result_tampered_state',
    description: 'Asks for a tick.',
    input: NOTHING,
    run: (_args, { ask }) => ask({ ok: z.boolean() }, { message: 'Please confirm' }),
  }),
  tool({
    name: 'test_custom_header',
    description: 'Has a field that travels in a header too.',
    input: z.object({ region: t.header('Region', z.string()) }),
    run: ({ region }) => region,
  }),
];

async function greet(ask: ToolContext['ask']): Promise<string> {
  const question = { message: 'What is your name?', key: 'user_name' };
  const answers = await ask({ name: z.string() }, question);
  return answers === undefined ? 'Hello!' : `Hello, ${answers.name}!`;
}
