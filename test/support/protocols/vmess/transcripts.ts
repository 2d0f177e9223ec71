/**
 * Conversations with v2ray 4.34.0 (Debian) and Xray-core (commit 2323273e), on 2026-11-20, with the
 * account `ID` of the harness.
 */

export interface Transcript {
  readonly security: 'aes-128-gcm' | 'chacha20-poly1305';
  /** When it took place, in Unix seconds. */
  readonly seconds: number;
}

/** What Weir said with known random bytes (their seed is the security), and v2ray's answer to it. */
export interface AcceptedByV2ray extends Transcript {
  /** The port on 127.0.0.1 that was asked for. */
  readonly port: number;
  /** The request with the payload `hello`, and the end. */
  readonly request: readonly string[];
  readonly answer: string;
  readonly payload: string;
}

export const ACCEPTED_BY_V2RAY: readonly AcceptedByV2ray[] = [
  {
    security: 'aes-128-gcm',
    seconds: 1795189273,
    port: 44207,
    request: [
      '0e696397ffa20514d6c901e3f5a9a1cb4dc0c73b2cf03a541c57660b8ab57f0e7cf3ca9e193eabd9d6c1' +
        '9fe2be5722caaaad38376a4d73dad9f3346c1f921c853532835752275a743fccced4ac92cf114c6567d4' +
        'e632cca5e183a1128c127b0de0b4e5fed8b9b6ffa275f429b0765191fbf0ce1e533e0c4dbfd74b07142c' +
        '44dd8862f93089f5a7489f3c612864a14fb64fca66',
      'c863abe9fe7d6f0bf7e97c7cb34c3a0eba3c7468187b7083d44d55c0c4f71da3bbc948cc',
    ],
    answer:
      'b3d34357cc6c9426d246b3501fbd7f78f5e889ed3275b5ecbcb79350f4ff28586cc8410759249fda167f' +
      'fcc7eb611d533992951c4d935e1c01433128e1ecef2b1cdcc3cd317182c5499da1d2d3708063e5adf72d' +
      '946c60d0b068b299d202b98f09f40c941d5fc04a47f70bab4e2aa590919a409d26b36042c8e993aa440f' +
      '7096e0318cb64a93111bf0aa4b799f736cdfcaddfb4e32c26bedc897254c65f869d857c6791e9775e4ea' +
      '239c38062d787731614ed8c81bf04124847e2b7edbdaff5e02d9',
    payload: 'answer to hello',
  },
  {
    security: 'chacha20-poly1305',
    seconds: 1795189273,
    port: 44207,
    request: [
      '270abdb2161e59d4ce93605d6b6a7c99563adc68d131d03506287b2c4383e61293c96b4ee4ae446fe98f' +
        'ae310652b57264581cd0749578344177363b9ab3091e744adaed7789c78db065889c40487da23a4dc4f6' +
        'acfa6c51b042fa389f1d1c5bb276d0e48eb21b06565af0a3c11c3400205dafed2045348dc9e369758a6a' +
        'f6008c4e8bd4',
      'd8df9f94375832f47a22e2204d207e584abc7e4542f9e351b1b50c4ebfd1ddd4a3469dfe57',
    ],
    answer:
      '9667b53025d89c1e9509a44bdb75a40b818e61476cb46112d7a63e1ded570853d75a805834f80335f271' +
      '6c5bef958bcde3f2986b974cd6780ae8d88a853de5f52e254096e9d3c96c173818a71dba16c8d25b0b09' +
      'b050947944db4c337d342b191b6b272d9093fc422c40221310d23bfc82066dd62d28dc50633a69fce14e' +
      '8ae935ae6a02852cc8a13dc80229428ec4b4a3f046daa704270086f6637b35ce160be326711f84ce752f' +
      '9554f376a6',
    payload: 'answer to hello',
  },
];

/** What clients send first for `GET / HTTP/1.0` to example.com, port 443. */
export interface SentByOthers extends Transcript {
  readonly peer: string;
  readonly bytes: string;
}

export const SENT_BY_OTHERS: readonly SentByOthers[] = [
  {
    peer: 'v2ray',
    security: 'aes-128-gcm',
    seconds: 1795189240,
    bytes:
      '3cc85cc1500afceae380b9d8db609c0f564c3b9600a1a705370c04ee2a299e9ecf8bf62fea9a924353ce' +
      '5b9b387c827c0b295098aede117956379d2464b959674e0c02f1bdf7419c7785e6752f6ffea01b407ad0' +
      '50baffbae758801ced01d98dbeac0b47205a0c4ef6675d44e4a0d8c1de1876731e2a26596aa598c8bb2e' +
      '7961d4ef464099823a42130c35b16e7508e0b9f8c93002f5009da5952498ebbeafbebdb50df13c109e25' +
      '08ec6b3ad81b2d394140d35735761a663cf10531413e6ff6',
  },
  {
    peer: 'v2ray',
    security: 'chacha20-poly1305',
    seconds: 1795189241,
    bytes:
      '280b79b335f96f79bfb5a1ccd5501c4bb3152765ab4c8eb18ebb3d8f6c375ea27f24abfbac41839e150d' +
      '157743aee32195e88065295146fff881ae9f4729ee2edc1005e53f967f81a09b7204f95766e47c725c5b' +
      'eba48a3c49cf7a32110398c6927e0aef419f5a29fa0cc5fbc08debe75adfd4a90cb81895bd686c63c36b' +
      'd5bc24fe79a3b896faaaa5e3ac87dc0aab77b7449a048ce2856eea5e5503781f8bcb26a3f754d9d634f7' +
      '20d4fe9895a81ea2d0efdafb61091e3de9300d6d6865199966db0227146450fcc51992253ade6f37f274' +
      'dd4a4628fbc4f6bb4fe64f62f226910aa8af0878546736fe662cce13c28d7d2aa5214eec84a40883ff36' +
      'e218871cd6',
  },
  {
    peer: 'Xray, sealed lengths',
    security: 'aes-128-gcm',
    seconds: 1795190234,
    bytes:
      '37cce7c10e6106e72733f15df0a76a3330a119b9b024da43699f9c582b64bff2ec25a247aeaac4eeea37' +
      '0d83587e70e04d94605630720c7e11e78dcce9a7cd31990c7c15773491fb46f9502078491f244e1bc509' +
      'fda97bdb725ac6a3ae6beb2101f2437a2593a2480984f96cf3b414d90dd2616df282069d51ba7eb67085' +
      '598c9a9bd24050267cb86dee24ade633967f23cfff6f8a29c1510347f9cf734c40eec93586f5973122f6' +
      '5dfdaa4195cdcc91466738a0a19a5136a8b6e731586155f68744df160d5cbd2e034b8bced7349097ecb6' +
      '6bae74d368f88c2c5f3250185c53f766aa54d169c73ca9f697717599420a1a5b906d50a066c7c0164b65' +
      '35c6e58bd19dab11eb',
  },
  {
    peer: 'Xray, sealed lengths',
    security: 'chacha20-poly1305',
    seconds: 1795190235,
    bytes:
      'd5e09d0e09b0413ec1a97ae8cd9b11bad351904c4b9e193ae9b9de36b235e379ea20b1564b8b8a071717' +
      '8cfee0264bbce4a17d116365be0f895e078bfa63ec115e65fd47e4ed8e382360aa380b527c25f6bf7611' +
      '8a476f4f0060da65e9663ee0067abb1b7c4f7360328d61fa962007a9717e8e05b53152c04ceec0763e48' +
      '5c5ae14aa6e2ea34558312e44f3d242ac027e75677bfba722137a7e11723134ca9cc61a2a8ab8c38571d' +
      '14931739ae06c0e3b81a7d4dd143985c1b81a2c0648e792ed5bb3cff71d1856766f0c899d51bb9c096e5' +
      '99243bef020feb6059ec7ae620213ac6bc7e0bc2c29c85c278d1e9a50d350cd83ec2ce6d79fbbff738cb' +
      '92483870ea103ccaa37cc4e95575726e8575f5dbc4',
  },
];
