"""SQuAD's metrics: squad-f1 and squad-em."""
