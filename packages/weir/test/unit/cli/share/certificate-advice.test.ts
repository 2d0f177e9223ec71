import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadForms } from '@weir/proxy/protocols';
import { adviceOn } from '../../../../src/cli/users/certificate-advice.ts';

await loadForms();

const OWN = { reason: 'the certificate is self-signed', canBePinned: true, canBeTrusted: true };
const OTHER_NAME = { ...OWN, canBeTrusted: false };
const EXPIRED = { ...OWN, canBePinned: false, canBeTrusted: false };

describe('of a certificate that clients would refuse it is said', () => {
  for (const [what, refused, form, insecure, protocol, said] of [
    ['that links have its hash', OWN, 'link', false, 'vless', /hash to compare.*"pcs" refuses it$/],
    ['that links have it for another name', OTHER_NAME, 'link', false, 'vmess', /hash to compare/],
    ['that some clients accept any', OWN, 'link', false, 'hysteria2', /"pinSHA256" accepts any/],
    [
      'that proxy URLs have no place',
      OWN,
      'link',
      false,
      'http',
      /refuse it.*--form xray or clash/,
    ],
    ['that Xray has its hash', OWN, 'xray', false, 'hysteria2', /hash to compare.*renewed$/],
    ['that Xray has it all the same', OWN, 'xray', true, 'trojan', /hash to compare.*renewed$/],
    ['that Clash has its hash', OTHER_NAME, 'clash', false, 'http', /hash to compare.*renewed$/],
    ['that sing-box trusts it', OWN, 'sing-box', false, 'trojan', /given this one to trust/],
    ['that its name has to be right', OTHER_NAME, 'weir', false, 'trojan', /clients refuse it/],
    ['that no hash helps', EXPIRED, 'link', false, 'trojan', /authority, or accept any with --in/],
    ['that any is accepted', OWN, 'link', true, 'trojan', /so clients accept any: anyone on the/],
    ['that any is accepted of Clash', OWN, 'clash', true, 'trojan', /so clients accept any/],
  ] as const) {
    test(what, () => assert.match(adviceOn(refused, { form, insecure }, protocol), said));
  }
});
