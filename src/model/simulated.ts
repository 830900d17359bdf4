/** Tag of the calls whose results are generated, as `docs/simulation.md` has them. */
export const SIMULATED_TAG = "sonde-simulated";
