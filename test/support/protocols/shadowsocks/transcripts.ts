import type { MethodName } from '@weir/proxy/protocols/shadowsocks/methods';

/** The first bytes of one connection in both directions. */
export interface Transcript {
  readonly method: MethodName;
  /** Keys in the chain of the client. */
  readonly keys: number;
  /** The clock of both sides, in Unix milliseconds. */
  readonly wall: number;
  /** What our client sent, in hex: salt, headers and "hello" to 127.0.0.1:18080. */
  readonly request: string;
  /** What the server sent when "hello" was echoed from there. */
  readonly response: string;
}

/**
 * Recorded with real servers, which passed "hello" on: shadowsocks-libev 3.3.5 for the legacy
 * methods, shadowsocks-rust 1.25.0 for those of 2022.
 */
export const TRANSCRIPTS: readonly Transcript[] = [
  {
    method: 'aes-128-gcm',
    keys: 1,
    wall: 1795190717000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e4044c8ac8f2483dc2a5c8e5a137a5f74947f7825a7773ab28ebe' +
      '6873872671766102f617cbba740e37515c14f559',
    response:
      'c08c8a6fc0ec86f4d88d3145482473bb2e08ef69b37c736de3395475c46e3cc58b3df0708babf4b35e04' +
      '1fbc088b7da49313b0b7bc3dd1',
  },
  {
    method: 'aes-256-gcm',
    keys: 1,
    wall: 1795190718000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e6f17b55694a6b05473f80aff6164866fa59770522e0e03880be7' +
      '10201e38b3950c5c026e10c6df31d59e0df2d22c56c25881f411c05e7d337535f937a3b3',
    response:
      'ec8052ed156e34c9a74437676d758849425517fe561cec9936f8acb74b0c8efca5372999714900c280be' +
      'b8f500af0d3ae045031542da493825fba9fd18a8bcabb86478710404b7',
  },
  {
    method: 'chacha20-ietf-poly1305',
    keys: 1,
    wall: 1795190719000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e6f17b55694a6b05473f80aff6164866f90790561527914ce6d07' +
      'f67cbf4eb8457a9da4c77517968169b4805fd2246cde6dfdf01feb2c3c2ac1a16c014705',
    response:
      '5ea72e48c8bd4c12bd1edd0a1475060161c82de20dee266be554dd7d94b9a499843cbd67e7b35ffb9c7b' +
      '3f195347044ef3ac8567ae3d254ea158fbdcdf92214fee33199a632580',
  },
  {
    method: 'xchacha20-ietf-poly1305',
    keys: 1,
    wall: 1795190719000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e6f17b55694a6b05473f80aff6164866fdcf509e8425eb7def519' +
      'c98990fb9b7f08ed4147127943e1e04d030b2b7020ec882c04b16eb585f69e7b2aaabc8d',
    response:
      '4a548d9b3da49321d80f443ea1638fe766afaa936a3e35431dd153d8e22c54e969f3758763edbcfafd7a' +
      'cb0f46b8190e531df2147e62b2f10427ea510facbf03ce153357be7302',
  },
  {
    method: '2022-blake3-aes-128-gcm',
    keys: 1,
    wall: 1795190720000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e873e55820a3e4d0c73e0b52631752681d1720e2a301edf781794' +
      'aea5c78b0256e66cf71580eb96332e60105e4050a8ab13d130b8f19bfafa8e',
    response:
      '4716508ee624981aad7137a0dfba1edb757107aefd75431dcb4e9f7e75dbde5a54d96a7478bc3481cdf5' +
      'c1bfeffa3c1a08ba283896fa1a971c5ee71d2b78a89090acfc75c47b81d0a25f3bb9a40fc0e4',
  },
  {
    method: '2022-blake3-aes-128-gcm',
    keys: 2,
    wall: 1795190721000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7eea7fe0e49558620eeab5d427a530b72edf917c1900301db7bc56' +
      '8a4a78e9225217e6619c627791961d61dc476463faaf588c220e2bd838140a34d6eff8b73200ff8590bd' +
      '363d692a2c',
    response:
      'a62b91957038396186c06050d891742c9a3dbeb08e48af88a194495c3baed2dd31003d6dad61b1778c5a' +
      'daf363ab41423b3183e10be70a2a8e33ff934b81bd9fd8d78a1f420513a3b08a7674c9b0085f',
  },
  {
    method: '2022-blake3-aes-256-gcm',
    keys: 1,
    wall: 1795190722000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e6f17b55694a6b05473f80aff6164866f1b65194b499119983645' +
      '313f7ad972740a51e8512984d0b8bf1ff7fb56deb2358efe52bbe9e2da4280bbcd1fb0b8a6433a6aebd6' +
      '62080e1135',
    response:
      'f60f2f9643a381c31c20ff509343b35250df753719d9a020af8379132c986474b598ed826b95ce121624' +
      '85bb0f5d735db6bc60e2cbf0bf84ec01d2b9767a03c42c24c97974fa69a881a81ae71f41c83dea5fdbda' +
      '2fa40633598004b1a022007a80de4786d4b3a4865c02127aac787dfc',
  },
  {
    method: '2022-blake3-aes-256-gcm',
    keys: 2,
    wall: 1795190722000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e6f17b55694a6b05473f80aff6164866f7e236600240068c405e3' +
      '154f796d151cf6b5ed843fd0888992c056d7c9ee2bc5b4693b3b599d8b5f09520b49d53f62d1d07a93bd' +
      '5de839ad8639a1ec10427a103b899011d21a516cee',
    response:
      '22c342afc5500c5c0f8c5124ffce7607072440ddaf4ec64c9ddc68644f5269370ab91e2bca940e5fda9c' +
      '1b0e9ff8f20a14f89cc8cd5713a2444e1796be40b74aba41b5a79e97b0d4caf6424f5b7f8e3cf7e25898' +
      'b4b5798e4a3733ae14a56ed8aef1cbf756313e5c896c864c37081d53',
  },
  {
    method: '2022-blake3-chacha20-poly1305',
    keys: 1,
    wall: 1795190723000,
    request:
      'ad93e16bf443deec737d5ca5e3d7ab7e6f17b55694a6b05473f80aff6164866f92982b7af5a1ac929d68' +
      '9badc4ec817554a06b2e4aa198598a6bdb22496a0fb47784d0861dd3b1da2c2163b7349920a82c24aa14' +
      '33bda95495',
    response:
      'c0e5442149c9f11f01407c806163778aaf986116fc862b53adb176cf721f0f712bdd0a33226f0bb0db72' +
      'a67b84edc41afa85d3ae699eeaa0d3a219edbe3ac66bed1aa4512ae64ff79f49ebfb2001b98c8ce18eee' +
      '60893bc4e66b9e7fa97b618c28d907be2001db9f72e8c44b05404465',
  },
];
