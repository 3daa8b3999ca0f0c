import { z } from 'zod';
import type { JsonSchema } from './schema.ts';

/*
 * The form of a question: zod -> what MCP allows in `requestedSchema`. One flat object of texts,
 * numbers, ticks and choices; clients draw it, so nothing else gets through.
 */

const LARGEST_FORM = 16_384;
const CHOICES = 'castellanChoices';
const PLAIN_TYPES = new Set(['string', 'number', 'integer', 'boolean']);
const FIELD_KEYS =
  'type title description default format enum enumNames minLength maxLength minimum maximum minItems maxItems'.split(
    ' ',
  );

/**
 * A field that is one of several values, each shown with a title: `choice({ de: 'Germany' })`. In
 * `z.array(choice({...}))` several may be chosen.
 */
export function choice<const Titles extends Record<string, string>>(
  titles: Titles,
): z.ZodEnum<{ [Value in keyof Titles & string]: Value }> {
  const values = Object.keys(titles) as (keyof Titles & string)[];
  const choices = values.map((value) => ({ const: value, title: titles[value] }));
  return z.enum(values).meta({ [CHOICES]: choices });
}

/**
 * The JSON Schema that clients show.
 * @throws TypeError when a field cannot be shown, or the form is too large.
 */
export function formSchema(form: z.ZodObject): JsonSchema {
  const { properties = {}, required } = z.toJSONSchema(form, { io: 'input', reused: 'inline' });
  const fields = Object.entries(properties).map(([name, field]) => [
    name,
    fieldSchema(name, field as JsonSchema),
  ]);
  const schema: JsonSchema = { type: 'object', properties: Object.fromEntries(fields) };
  if (required !== undefined && required.length > 0) schema['required'] = required;
  if (JSON.stringify(schema).length > LARGEST_FORM)
    throw new TypeError(`a question's form has at most ${LARGEST_FORM} bytes`);
  return schema;
}

function fieldSchema(name: string, field: JsonSchema): JsonSchema {
  const shown = Object.fromEntries(
    FIELD_KEYS.flatMap((key) => (key in field ? [[key, field[key]]] : [])),
  );
  // The bounds of a safe integer say nothing to a person.
  if (shown['minimum'] === Number.MIN_SAFE_INTEGER) delete shown['minimum'];
  if (shown['maximum'] === Number.MAX_SAFE_INTEGER) delete shown['maximum'];
  if (field['type'] === 'array') {
    const items = itemsSchema(field['items'] as JsonSchema | undefined);
    if (items !== undefined) return { ...shown, items };
  } else if (PLAIN_TYPES.has(String(field['type']))) {
    if (!(CHOICES in field)) return shown;
    delete shown['enum'];
    return { ...shown, oneOf: field[CHOICES] };
  }
  throw new TypeError(`a question's form: ${name} is no text, number, tick or choice`);
}

/** Several of a list of texts. */
function itemsSchema(items: JsonSchema | undefined): JsonSchema | undefined {
  if (items === undefined || items['type'] !== 'string') return undefined;
  if (CHOICES in items) return { anyOf: items[CHOICES] };
  return Array.isArray(items['enum']) ? { type: 'string', enum: items['enum'] } : undefined;
}
