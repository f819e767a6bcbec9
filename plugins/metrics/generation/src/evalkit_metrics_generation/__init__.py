"""Metrics of generated texts: BLEU, chrF, TER, ROUGE, BERTScore and COMET."""
