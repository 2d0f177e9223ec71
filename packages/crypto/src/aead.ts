/** AEADs for streams and for packets. */
export {
  AEAD_SHAPES,
  type AeadName,
  createOpener,
  createSealer,
  type Opener,
  type Sealer,
  TAG_LENGTH,
} from './aead/aead.ts';
export { NonceCounter } from './aead/nonce-counter.ts';
