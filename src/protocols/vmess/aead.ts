import {
  createCipheriv,
  createDecipheriv,
  type CipherChaCha20Poly1305,
  type CipherGCM,
  type DecipherChaCha20Poly1305,
  type DecipherGCM,
} from 'node:crypto';

// TODO: a stand-in with the shape of src/crypto/aead.ts until that is here.
export const TAG_LENGTH = 16;
export type AeadName = 'aes-128-gcm' | 'chacha20-poly1305';
export interface Sealer extends Disposable {
  seal(nonce: Uint8Array, plain: Uint8Array, out: Uint8Array, associated?: Uint8Array): void;
}
export interface Opener extends Disposable {
  open(nonce: Uint8Array, sealed: Uint8Array, out: Uint8Array, associated?: Uint8Array): boolean;
}
const OPTIONS = { authTagLength: TAG_LENGTH };
export const aead = {
  sealer: (name: AeadName, key: Uint8Array): Sealer => ({
    seal(nonce, plain, out, associated) {
      const cipher: CipherGCM | CipherChaCha20Poly1305 =
        name === 'chacha20-poly1305'
          ? createCipheriv(name, key, nonce, OPTIONS)
          : createCipheriv(name, key, nonce, OPTIONS);
      if (associated) cipher.setAAD(associated, { plaintextLength: plain.length });
      out.set(cipher.update(plain));
      cipher.final();
      out.set(cipher.getAuthTag(), plain.length);
    },
    [Symbol.dispose]() {},
  }),
  opener: (name: AeadName, key: Uint8Array): Opener => ({
    open(nonce, sealed, out, associated) {
      const length = sealed.length - TAG_LENGTH;
      if (length < 0) return false;
      const decipher: DecipherGCM | DecipherChaCha20Poly1305 =
        name === 'chacha20-poly1305'
          ? createDecipheriv(name, key, nonce, OPTIONS)
          : createDecipheriv(name, key, nonce, OPTIONS);
      decipher.setAuthTag(sealed.subarray(length));
      if (associated) decipher.setAAD(associated, { plaintextLength: length });
      const plain = decipher.update(sealed.subarray(0, length));
      try {
        decipher.final();
      } catch {
        return false;
      }
      out.set(plain);
      return true;
    },
    [Symbol.dispose]() {},
  }),
};
