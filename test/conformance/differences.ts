import { SESSION_REVISIONS } from './probes.ts';

/*
 * Where our endpoint and the official SDK's handlers answer differently, each with the clause that it
 * is about. The test fails when one of them is not there any more.
 */

export interface Difference {
  probes: string[];
  ours: string;
  sdk: string;
  /** The clause, and why. */
  reason: string;
}

/** A difference of every answer of a kind, which is taken out before two answers are compared. */
export interface GeneralDifference {
  reason: string;
  /** What of an answer to take out, and what to put there. */
  ours?: [RegExp, string];
  sdk?: [RegExp, string];
}

export const GENERAL: readonly GeneralDifference[] = [
  {
    reason:
      'schema.ts, JSONRPCErrorResponse: the id of an error may be left out and is never null; the SDK says null, as JSON-RPC 2.0 section 5 does',
    sdk: [/ with id null/g, ' without id'],
  },
  {
    reason:
      'tools, inputSchema: $schema may be left out, JSON Schema 2020-12 is what counts then; some clients refuse it',
    sdk: [/\$schema,/g, ''],
  },
  {
    reason: 'tools, inputSchema: ours says that it takes no other arguments, because it does not',
    ours: [/additionalProperties:false,/g, ''],
    sdk: [/additionalProperties:false,/g, ''],
  },
  {
    reason: 'elicitation: the SDK gives each question a progress token in _meta, which is optional',
    sdk: [/(elicitation\/create \{)_meta,/g, '$1'],
  },
];

/** The tools as both list them. */
const CATALOG = `[${[
  '{description:"Adds.",inputSchema:{properties:{a:{type:"number"},b:{type:"number"}},required:["a","b"],type:"object"},name:"add",outputSchema:{properties:{total:{type:"number"}},required:["total"],type:"object"}}',
  '{description:"Asks first.",inputSchema:{properties:{},type:"object"},name:"wipe"}',
  '{description:"Never does it.",inputSchema:{properties:{},type:"object"},name:"refuse"}',
  '{description:"Says it.",inputSchema:{properties:{text},required:["text"],type:"object"},name:"echo"}',
  '{description:"Three steps.",inputSchema:{properties:{},type:"object"},name:"steps"}',
].join()}]`;

const inAll = (name: string): string[] =>
  SESSION_REVISIONS.map((revision) => `${revision}: ${name}`);

export const DIFFERENCES: readonly Difference[] = [
  {
    probes: ['modern: discover'],
    ours: '200 json result with id {_meta,cacheScope:"public",capabilities:{tools:{listChanged:true}},resultType:"complete",supportedVersions:["2026-07-28"],ttlMs}',
    sdk: '200 json result with id {_meta,cacheScope:"private",capabilities:{tools:{listChanged:true}},resultType:"complete",supportedVersions:["2026-07-28"],ttlMs}',
    reason: 'caching, cacheScope: what is answered without a credential is the same for everybody',
  },
  {
    probes: ['modern: list with cursor unknown'],
    ours: '200 json error -32602 with id',
    sdk: `200 json result with id {_meta,cacheScope:"private",resultType:"complete",tools:${CATALOG},ttlMs}`,
    reason: 'pagination: an invalid cursor is -32602; the SDK pages nothing and reads none',
  },
  {
    probes: ['modern: list with cursor number', 'modern: list with cursor null'],
    ours: '200 json error -32602 with id',
    sdk: '200 json error -32603 with id',
    reason: 'pagination: an invalid cursor is -32602; with the SDK it is a fault of the server',
  },
  {
    probes: ['modern: progress with a token that is none'],
    ours: '200 json result with id {_meta,content:[{text,type:"text"}],resultType:"complete"}',
    sdk: '400 json error -32600 with id',
    reason:
      'progress: a token is a text or a number; with another one nothing is reported, and the call is served all the same',
  },
  {
    probes: ['modern: a question to who cannot ask', 'modern: a question to who shows links'],
    ours: '200 json result with id {_meta,content:[{text,type:"text"}],isError:true,resultType:"complete"}',
    sdk: '400 json error -32021 with id',
    reason:
      'client capabilities, -32021: ours answers with a result that the assistant can read (docs/divergences.md)',
  },
  {
    probes: [
      'modern: responses that are list',
      'modern: responses that are text',
      'modern: responses that are null',
    ],
    ours: '200 json error -32602 with id',
    sdk: '200 json result with id {_meta,inputRequests:{answer:{method:"elicitation/create",params:{message,mode:"form",requestedSchema:{properties:{confirm:{type:"boolean"}},required:["confirm"],type:"object"}}}},requestState,resultType:"input_required"}',
    reason:
      'multi round-trip requests, inputResponses is an object: the SDK takes what is none for nothing',
  },
  {
    probes: ['modern: arguments null', 'modern: arguments list', 'modern: arguments text'],
    ours: '200 json result with id {_meta,content:[{text,type:"text"}],isError:true,resultType:"complete"}',
    sdk: '200 json error -32602 with id',
    reason:
      'tools, error handling: both is possible; a result tells the assistant what to correct, whatever the arguments are',
  },
  {
    probes: ['modern: arguments too many'],
    ours: '200 json result with id {_meta,content:[{text,type:"text"}],isError:true,resultType:"complete"}',
    sdk: '200 json result with id {_meta,content:[{text,type:"text"}],resultType:"complete"}',
    reason:
      'tools, inputSchema: an argument that nobody knows is a mistake that the assistant should hear of',
  },
  {
    probes: [
      'modern: the name of a tool missing',
      'modern: the name of a tool number',
      'modern: the name of a tool null',
      'modern: the name of a tool object',
    ],
    ours: '400 json error -32020 with id',
    sdk: '200 json error -32602 with id',
    reason: 'Streamable HTTP, server validation of headers: Mcp-Name says what the body does not',
  },
  {
    probes: [
      'modern: a client in _meta that is null',
      'modern: a client in _meta that is text',
      'modern: a client in _meta that is empty',
    ],
    ours: `200 json result with id {_meta,cacheScope:"private",resultType:"complete",tools:${CATALOG},ttlMs}`,
    sdk: '400 json error -32602 with id',
    reason: '_meta, clientInfo: it is optional, and nothing here depends on it',
  },
  {
    probes: ['modern: a _meta that is null', 'modern: a _meta that is list'],
    ours: '400 json error -32602 with id',
    sdk: '400 json error -32600 with id',
    reason: '_meta, required fields: there are none in what is no object',
  },
  {
    probes: [
      'modern: a body of text/plain',
      '2025-11-25: a body of text/plain',
      'modern: a body of application/json+x',
      'modern: a body of application/x-www-form-urlencoded',
      'modern: a body of text/json',
      'modern: a body of multipart/form-data; boundary=x',
    ],
    ours: '415 json error -32600 without id',
    sdk: '415 json error -32000 without id',
    reason: 'Streamable HTTP, 415: the code in the body is free; ours is Invalid Request',
  },
  {
    probes: ['modern: who accepts text/event-stream'],
    ours: '200 stream result with id {_meta,content:[{text,type:"text"}],resultType:"complete"}',
    sdk: '200 json result with id {_meta,content:[{text,type:"text"}],resultType:"complete"}',
    reason: 'Streamable HTTP, Accept: a client that takes only one of the two forms gets that one',
  },
  {
    probes: [
      'modern: the verb GET',
      'modern: the verb DELETE',
      '2025-11-25: GET without a session',
      '2025-11-25: DELETE without a session',
    ],
    ours: '405 none',
    sdk: '400 json error -32000 without id',
    reason:
      'Streamable HTTP, other verbs: 405 where no session is named; the SDK takes it for a request of the older era',
  },
  {
    probes: [
      'modern: the verb PUT',
      '2025-11-25: the verb PUT',
      'modern: the verb PATCH',
      '2025-11-25: the verb PATCH',
      'modern: the verb HEAD',
    ],
    ours: '405 none',
    sdk: '405 json error -32000 without id',
    reason: 'Streamable HTTP, other verbs: 405; a body is not asked for',
  },
  {
    probes: ['modern: the verb OPTIONS'],
    ours: '204 none',
    sdk: '405 json error -32000 without id',
    reason: 'CORS (Fetch): a preflight is answered; the SDK leaves that to what is in front of it',
  },
  {
    probes: ['modern: a body: no UTF-8'],
    ours: '400 json error -32700 without id',
    sdk: '400 json error -32602 with id',
    reason: 'RFC 8259 section 8.1: JSON is UTF-8; the SDK replaces what is not',
  },
  {
    probes: ['modern: a body: a response', 'modern: a body: an error response'],
    ours: '400 json error -32600 without id',
    sdk: '400 json error -32000 without id',
    reason:
      'JSON-RPC 2.0 section 4: in this era only requests and notifications come in; the code is Invalid Request',
  },
  {
    probes: [
      'modern: a body: no jsonrpc',
      '2025-11-25: a body: no jsonrpc',
      'modern: a body: jsonrpc 1.0',
      '2025-11-25: a body: jsonrpc 1.0',
      'modern: a body: jsonrpc as a number',
      '2025-11-25: a body: jsonrpc as a number',
      'modern: a body: params in a list',
      '2025-11-25: a body: params in a list',
      'modern: a body: params that are null',
      '2025-11-25: a body: params that are null',
      'modern: a body: params that are a text',
      '2025-11-25: a body: params that are a text',
      'modern: a body: the id a fraction',
      '2025-11-25: a body: the id a fraction',
      'modern: a body: the id beyond integers',
      '2025-11-25: a body: the id beyond integers',
    ],
    ours: '400 json error -32600 without id',
    sdk: '400 json error -32600 with id',
    reason: 'JSON-RPC 2.0 section 5: the id of what is no valid request is not known',
  },
  {
    probes: ['modern: a body: deep params'],
    ours: '400 json error -32600 without id',
    sdk: '400 json error -32602 with id',
    reason:
      'JSON-RPC 2.0 section 5.1: deeper than 200 levels is no request that anybody means; a reader could overflow',
  },
  {
    probes: ['modern: a request of no era', ...inAll('no session')],
    ours: '400 json error -32020 with id',
    sdk: '400 json error -32000 without id',
    reason: 'Streamable HTTP: with no session and no _meta it is told which of the two to send',
  },
  {
    probes: [...inAll('resources/list')],
    ours: '200 json result with id {resources:[]}',
    sdk: '200 json error -32601 with id',
    reason:
      'basic: nothing was announced; some clients ask all the same and fail without an answer',
  },
  {
    probes: [...inAll('prompts/list')],
    ours: '200 json result with id {prompts:[]}',
    sdk: '200 json error -32601 with id',
    reason:
      'basic: nothing was announced; some clients ask all the same and fail without an answer',
  },
  {
    probes: ['2024-11-05: call of wipe {}', '2025-03-26: call of wipe {}'],
    ours: '200 json result with id {content:[{text,type:"text"}],isError:true}',
    sdk: '200 stream elicitation/create {message,mode:"form",requestedSchema:{properties:{confirm:{type:"boolean"}},required:["confirm"],type:"object"}} result with id {content:[{text,type:"text"}]}',
    reason: 'elicitation came with 2025-06-18: clients of older revisions cannot have declared it',
  },
  {
    probes: [...inAll('initialize again')],
    ours: '200 json error -32600 with id',
    sdk: '400 json error -32600 without id',
    reason: 'lifecycle: a session is opened once; ours answers the request, the SDK the transport',
  },
  {
    probes: ['2024-11-05: a batch', '2025-06-18: a batch', '2025-11-25: a batch'],
    ours: '400 json error -32600 without id',
    sdk: '200 json result with id {}',
    reason: 'JSON-RPC batches are of 2025-03-26 only',
  },
  {
    probes: [
      '2024-11-05: a batch of notifications',
      '2025-06-18: a batch of notifications',
      '2025-11-25: a batch of notifications',
    ],
    ours: '400 json error -32600 without id',
    sdk: '202 none',
    reason: 'JSON-RPC batches are of 2025-03-26 only',
  },
  {
    probes: [...inAll('an unknown version in the header')],
    ours: '400 json error -32000 with id',
    sdk: '400 json error -32000 without id',
    reason: 'Streamable HTTP: the id of the request is known, and told',
  },
  {
    probes: [...inAll('an unknown session')],
    ours: '404 json error -32001 with id',
    sdk: '404 json error -32001 without id',
    reason: 'Streamable HTTP: the id of the request is known, and told',
  },
  {
    probes: [...inAll('DELETE')],
    ours: '204 none',
    sdk: '200 none',
    reason: 'Streamable HTTP, ending a session: RFC 9110 section 9.3.5, 204 for what has no body',
  },
  {
    probes: ['2025-06-18: call of wipe {}'],
    ours: '200 stream elicitation/create {message,requestedSchema:{properties:{confirm:{type:"boolean"}},required:["confirm"],type:"object"}} result with id {content:[{text,type:"text"}]}',
    sdk: '200 stream elicitation/create {message,mode:"form",requestedSchema:{properties:{confirm:{type:"boolean"}},required:["confirm"],type:"object"}} result with id {content:[{text,type:"text"}]}',
    reason: 'elicitation, mode came with 2025-11-25',
  },
  {
    probes: ['2025-11-25: a body: no UTF-8'],
    ours: '400 json error -32700 without id',
    sdk: '200 json error -32601 with id',
    reason: 'RFC 8259 section 8.1: JSON is UTF-8; the SDK replaces what is not',
  },
  {
    probes: ['2025-11-25: a body: deep params'],
    ours: '400 json error -32600 without id',
    sdk: `200 json result with id {tools:${CATALOG}}`,
    reason:
      'JSON-RPC 2.0 section 5.1: deeper than 200 levels is no request that anybody means; a reader could overflow',
  },
  {
    probes: [
      '2025-11-25: who accepts application/json',
      '2025-11-25: who accepts */*',
      '2025-11-25: who accepts text/html',
    ],
    ours: '200 json result with id {}',
    sdk: '406 json error -32000 without id',
    reason:
      'Streamable HTTP, Accept: a client that names one of the two forms, or none, is served (docs/divergences.md)',
  },
  {
    probes: ['2025-11-25: who accepts text/event-stream'],
    ours: '200 stream result with id {}',
    sdk: '406 json error -32000 without id',
    reason:
      'Streamable HTTP, Accept: a client that names one of the two forms, or none, is served (docs/divergences.md)',
  },
  {
    probes: ['2025-11-25: GET of who accepts */*'],
    ours: '200 stream open',
    sdk: '406 json error -32000 without id',
    reason: 'Streamable HTTP, Accept: a client that takes anything takes an event stream',
  },
  {
    probes: [
      '2025-11-25: initialize with no version',
      '2025-11-25: initialize with no capabilities',
      '2025-11-25: initialize with no client',
      '2025-11-25: initialize with no params',
    ],
    ours: '200 json result with id {capabilities:{tools:{listChanged:true}},protocolVersion:"2025-11-25",serverInfo}',
    sdk: '400 json error -32000 without id',
    reason:
      'lifecycle: what the client leaves out is taken as the newest revision without capabilities',
  },
];
