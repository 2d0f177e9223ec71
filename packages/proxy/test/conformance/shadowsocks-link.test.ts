import { linkPair } from '@weir/io/links';
import {
  LegacyStreamOpener,
  LegacyStreamSealer,
} from '../../src/protocols/shadowsocks/legacy/stream.ts';
import { METHODS, type MethodName } from '../../src/protocols/shadowsocks/methods.ts';
import { ShadowsocksLink } from '../../src/protocols/shadowsocks/stream-link.ts';
import { byteLinkConformance } from '../../../io/test/conformance/byte-link.ts';

for (const name of ['aes-128-gcm', 'xchacha20-ietf-poly1305'] satisfies MethodName[]) {
  const { [name]: method } = METHODS;
  const key = Buffer.alloc(method.keyLength, 7);
  const salt = (byte: number): Buffer => Buffer.alloc(method.keyLength, byte);

  byteLinkConformance(`a Shadowsocks stream (${name})`, () => {
    const [a, b] = linkPair();
    const left = new ShadowsocksLink(
      a,
      new LegacyStreamSealer(method, key, salt(1)),
      new LegacyStreamOpener(method, key),
    );
    const right = new ShadowsocksLink(
      b,
      new LegacyStreamSealer(method, key, salt(2)),
      new LegacyStreamOpener(method, key),
    );
    return Promise.resolve({ left, right });
  });
}
