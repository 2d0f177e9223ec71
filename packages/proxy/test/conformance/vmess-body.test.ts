import { linkPair } from '@weir/io/links';
import { BodyLink } from '../../src/protocols/vmess/body/body.ts';
import {
  requestKeys,
  responseKeys,
  type BodyTerms,
} from '../../src/protocols/vmess/body/body-keys.ts';
import { BodyOpener, BodySealer } from '../../src/protocols/vmess/body/body-chunks.ts';
import { SystemRandomSource } from '@weir/base/random';
import { ResponseDecoder, sealResponse } from '../../src/protocols/vmess/header/response.ts';
import { byteLinkConformance, type LinkEnds } from '../../../io/test/conformance/byte-link.ts';

function bodies(options: number, security: 3 | 4): LinkEnds {
  const random = new SystemRandomSource();
  const terms: BodyTerms & { readonly answer: number } = {
    iv: random.bytes(16),
    key: random.bytes(16),
    options,
    security,
    answer: 1,
  };
  const [near, far] = linkPair();
  return {
    left: new BodyLink({
      carrier: near,
      decoder: new ResponseDecoder(terms),
      sealer: new BodySealer(requestKeys(terms), random),
      preface: new Uint8Array(0),
    }),
    right: new BodyLink({
      carrier: far,
      decoder: new BodyOpener(requestKeys(terms)),
      sealer: new BodySealer(responseKeys(terms), random),
      preface: sealResponse(terms),
    }),
  };
}

byteLinkConformance('a VMess body', () => Promise.resolve(bodies(0x0d, 3)));
byteLinkConformance('a VMess body with sealed lengths', () => Promise.resolve(bodies(0x1d, 4)));
byteLinkConformance('a VMess body without an end of its own', () =>
  Promise.resolve(bodies(0x04, 3)),
);
