import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as oauth from 'oauth4webapi';
import { startTestApp } from '../support/app.ts';
import { callTool, leftFor } from '../support/oauth-client.ts';
import { createPerson } from '../support/person.ts';

/*
 * A strict client library that nobody here wrote goes the whole way: what it accepts is what the RFCs
 * say, not what our own client happens to expect.
 */

const REDIRECT = 'http://127.0.0.1:7000/callback';
const HTTP = { [oauth.allowInsecureRequests]: true };

it('a strict OAuth library discovers, registers, logs in, refreshes and revokes', async () => {
  await using app = await startTestApp({ dialect: 'sqlite' });
  const resource = new URL(`${app.origin}/mcp`);
  const protectedResource = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, HTTP),
  );
  const issuer = new URL(protectedResource.authorization_servers?.[0] ?? '');
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...HTTP, algorithm: 'oauth2' }),
  );
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      server,
      {
        client_name: 'Strict client',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
      },
      HTTP,
    ),
  );

  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const authorize = new URL(server.authorization_endpoint ?? '');
  authorize.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'mcp',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    resource: resource.href,
  }).toString();
  const person = createPerson(app);
  const consent = await person.logIn(await person.follow(authorize), { name: 'walter' });
  const returned = leftFor(await person.allow(consent));

  // Checks `state` and, because the metadata promises it, `iss` (RFC 9207).
  const parameters = oauth.validateAuthResponse(server, client, returned, state);
  const proof = oauth.None();
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      proof,
      parameters,
      REDIRECT,
      verifier,
      HTTP,
    ),
  );
  assert.equal(tokens.token_type, 'bearer');
  assert.equal(tokens.scope, 'mcp writer');
  assert.equal((await callTool(app, tokens.access_token)).status, 200);

  const refreshed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, proof, tokens.refresh_token ?? '', HTTP),
  );
  assert.notEqual(refreshed.refresh_token, tokens.refresh_token);
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, proof, refreshed.refresh_token ?? '', HTTP),
  );
  const refused = await callTool(app, refreshed.access_token);
  assert.equal(refused.status, 401);
});
