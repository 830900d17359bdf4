// Reads file permissions from a mode.

/** Whether group or others have any right. */
export const isShared = (mode: number): boolean => (mode & 0o077) !== 0;

export const isOpenToOthers = (mode: number): boolean => (mode & 0o007) !== 0;

export const octal = (mode: number): string => `0${(mode & 0o777).toString(8).padStart(3, "0")}`;
