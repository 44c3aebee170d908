import packageJson from '../../package.json' with { type: 'json' };

/** The product's version. Imported, not read: a bundle carries it, a checkout has it as it is. */
export const version: string = packageJson.version;
