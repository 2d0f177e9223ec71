/** TOML with the place of every value. */
export { parseToml } from './toml/parse.ts';
export { TomlError } from './toml/tree.ts';
