/** The tag of calls whose results are generated: see `docs/simulation.md`. */
export const SIMULATED_TAG = "sonde-simulated";
