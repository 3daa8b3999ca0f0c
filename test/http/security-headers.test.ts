import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pageHeaders, type FormTarget } from '#src/http/security-headers.ts';

const targets: FormTarget[] = ['none', 'self', 'redirect'];

describe('pageHeaders', () => {
  for (const target of targets) {
    const headers = pageHeaders(target);
    const policy = (headers['content-security-policy'] ?? '').split('; ');

    it(`allows no script, frame or other site, with forms to ${target}`, () => {
      assert.ok(policy.includes("default-src 'none'"));
      assert.ok(policy.includes("frame-ancestors 'none'"));
      assert.ok(policy.includes("base-uri 'none'"));
      assert.doesNotMatch(policy.join(), /script-src|unsafe|https?:|\*|data:/);
      assert.equal(headers['x-frame-options'], 'DENY');
    });

    it(`keeps and tells nothing, with forms to ${target}`, () => {
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['referrer-policy'], 'no-referrer');
      assert.equal(headers['x-content-type-options'], 'nosniff');
    });
  }

  it('says where forms may lead, but for the pages whose answer leads away', () => {
    const formAction = (target: FormTarget) =>
      pageHeaders(target)['content-security-policy']?.match(/form-action [^;]*/)?.[0];
    assert.equal(formAction('none'), "form-action 'none'");
    assert.equal(formAction('self'), "form-action 'self'");
    assert.equal(formAction('redirect'), undefined);
  });

  it('lets the app that opened it hear from a pop-up that comes back', () => {
    assert.equal(pageHeaders('none')['cross-origin-opener-policy'], 'same-origin');
    assert.equal('cross-origin-opener-policy' in pageHeaders('redirect'), false);
  });
});
