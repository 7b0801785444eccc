"""Linear and integer programs beside the model: pricing, masters, relaxations, forms of proofs."""
